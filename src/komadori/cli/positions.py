"""Parse positions given on the command line."""

from __future__ import annotations

from komadori.rules import Board


def board_of(text: str) -> Board:
    """Parse an SFEN, or USI's `position` arguments: `startpos moves 7g7f`, `sfen ... moves ...`.

    An SFEN may be followed by moves without the word `sfen`. Raises RulesError.
    """
    # Arguments may hold any bytes, the core takes text.
    words = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split()
    if words[:1] == ["position"]:
        del words[0]
    if words[:1] in (["startpos"], ["sfen"]):
        return Board.from_usi(" ".join(words))
    if "moves" in words:
        return Board.from_usi(" ".join(["sfen", *words]))
    return Board(" ".join(words))
