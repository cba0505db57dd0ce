"""Players, built from one-line specifications.

    player = players.make("model:model.onnx?nodes=100")
    decision = player.play(board, GoCommand())

The grammar is documented in `komadori.players.spec`. Building a player imports only what
its kind needs.
"""

from __future__ import annotations

from komadori.players.fingerprint import check_files, fingerprint
from komadori.players.player import Decision, OptionRange, Player, Tunable
from komadori.players.spec import KINDS, PlayerSpec, PlayerSpecError
from komadori.wording import check_type

__all__ = [
    "KINDS",
    "Decision",
    "OptionRange",
    "Player",
    "PlayerSpec",
    "PlayerSpecError",
    "Tunable",
    "check",
    "check_files",
    "fingerprint",
    "make",
]


def check(spec: str | PlayerSpec) -> None:
    """Check what a specification says of a built-in player's options, without building the player.

    Raises PlayerSpecError. The options of other engines are known once they run.
    """
    check_type("spec", spec, str, PlayerSpec)
    parsed = PlayerSpec.parse(spec) if isinstance(spec, str) else spec
    if parsed.kind in ("material", "random"):
        if unknown := ", ".join(parsed.own_options):
            raise PlayerSpecError(f"{parsed.kind} has no option {unknown}")
    elif parsed.kind in ("alphabeta", "model", "policy", "one-ply"):
        from komadori.players.searching import options_of

        options_of(parsed)


def make(spec: str | PlayerSpec) -> Player:
    """Build a player from its specification (grammar: `komadori.players.spec`).

    Raises PlayerSpecError for an invalid specification, EngineError if an engine can't be
    started, FileNotFoundError or ValueError if a model can't be loaded.
    """
    check_type("spec", spec, str, PlayerSpec)
    parsed = PlayerSpec.parse(spec) if isinstance(spec, str) else spec
    if parsed.kind in ("material", "random"):
        from komadori.players.simple import MaterialPlayer, RandomPlayer

        check(parsed)
        simple = MaterialPlayer if parsed.kind == "material" else RandomPlayer
        return simple(parsed.name, parsed.number("seed"))
    if parsed.kind in ("model", "policy", "one-ply"):
        from komadori.players.searching import make_network_player

        return make_network_player(parsed)
    if parsed.kind == "alphabeta":
        from komadori.players.searching import make_alphabeta_player

        return make_alphabeta_player(parsed)

    from komadori.players.external import EnginePlayer
    from komadori.usi import adapters
    from komadori.usi.client import ExternalEngine, UsiEngine

    given_name = parsed.options.get("name", "")
    engine: ExternalEngine
    if parsed.kind == "usi":
        engine = UsiEngine(parsed.argument, parsed.own_options)
    else:
        engine = adapters.start(parsed.kind, parsed.own_options, parsed.argument)
    return EnginePlayer(engine, given_name, parsed.limits, tuple(parsed.own_options))
