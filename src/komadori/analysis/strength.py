"""The strength of the analysing engine, compared with the players of a game."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from importlib import resources

from komadori.records import Game
from komadori.rules import BLACK, COLORS
from komadori.wording import counted

#: The diary's reference rating of GPSfish (その49, 2017).
GPSFISH_RATING = 2800.0
#: Players rated higher may be stronger, if the engine's own rating is unknown.
STRONG_RATING = 2500.0

_UNKNOWN = {
    "en": "The strength of this network has not been measured here.",
    "ja": "このネットワークの棋力は測定していません。",
}

#: Titles and ranks of professionals; strong amateurs have the same ranks.
_PROFESSIONAL = re.compile(
    r"(?<!アマ)(?<!アマチュア)(竜王|名人|王位|王座|棋王|叡王|王将|棋聖|[二三四五六七八]冠|[四五六七八九]段|女流[一二三四五六七]段|永世|十段)"
    r"\s*([（(][^（）()]*[）)])?$"
)
#: Names of the strongest programs, and of programs about as strong as GPSfish.
_PROGRAM = re.compile(
    r"yaneura|やねうら|水匠|suisho|dlshogi|tanuki|elmo|apery|gikou|技巧|nnue|honeywaffle|"
    r"ponanza|ryfamate|fukaura|kristallweizen|白ビール|二番絞り|"
    r"hefeweizen|お前、?CSA会員",
    re.IGNORECASE,
)
_LIKE_GPSFISH = re.compile(r"gpsfish|gpsshogi|bonanza", re.IGNORECASE)


@dataclass(frozen=True)
class Match:
    """A measured match of the analysing engine, at equal time and threads."""

    opponent: str
    seconds: float
    """Seconds per move."""
    threads: int
    """Threads per side."""
    won: int
    drawn: int
    lost: int

    @property
    def games(self) -> int:
        return self.won + self.drawn + self.lost


@dataclass(frozen=True)
class Strength:
    """Measured strength of a bundled player."""

    source: str
    """The page that documents the measurements."""
    player: str
    player_japanese: str
    matches: tuple[Match, ...]

    @property
    def rating(self) -> float | None:
        """Rating with GPSfish at 2800, from all matches against it; None without any."""
        against = [match for match in self.matches if match.opponent == "GPSfish"]
        games = sum(match.games for match in against)
        if not games:
            return None
        points = sum(match.won + match.drawn / 2 for match in against)
        score = min(max(points / games, 1 / (2 * games)), 1 - 1 / (2 * games))
        return GPSFISH_RATING - 400 * math.log10(1 / score - 1)


#: Of networks other than the package's own.
UNKNOWN = Strength("", "", "", ())


def measured(player: str = "alphabeta") -> Strength:
    """Return the measured matches of a kind of player with its bundled evaluation, from
    `data/strength.json`.
    """
    text = resources.files("komadori").joinpath("data/strength.json").read_text("utf-8")
    table = json.loads(text)
    row = table["players"][player]
    return Strength(
        table["source"],
        row["name"],
        row["name_japanese"],
        tuple(Match(**match) for match in row["matches"]),
    )


def statement(strength: Strength) -> dict[str, str]:
    """Return a sentence on the engine's strength, by language."""
    if not strength.matches:
        return _UNKNOWN
    english, japanese = [], []
    for match in strength.matches:
        drawn = f", {match.drawn} drawn," if match.drawn else ""
        english.append(
            f"{match.won} of {match.games} games won{drawn} against {match.opponent} "
            f"at {match.seconds:g} s per move on {counted(match.threads, 'thread')} each"
        )
        drawn = f"{match.drawn}引き分け" if match.drawn else ""
        japanese.append(
            f"{match.opponent}に一手{match.seconds:g}秒・各{match.threads}スレッドで"
            f"{match.won}勝{match.lost}敗{drawn}"
        )
    rating = strength.rating
    about = (
        ""
        if rating is None
        else f" That is about R{round(rating, -1):.0f} where GPSfish is put at 2800."
    )
    about_japanese = (
        ""
        if rating is None
        else f"GPSfishのレートを2800とすると、R{round(rating, -1):.0f}程度です。"
    )
    return {
        "en": f"Measured strength of {strength.player}: {'; '.join(english)}.{about} "
        "Differences of a few points, and positions far from its training games, are uncertain.",
        "ja": f"{strength.player_japanese}の棋力の実測：{'、'.join(japanese)}。{about_japanese}"
        "数ポイントの差や、学習した対局から離れた局面の評価は不確かです。",
    }


@dataclass(frozen=True)
class Stronger:
    """A player who may be stronger than the engine, and why."""

    turn: int
    name: str
    reason: str
    """"rating", "professional" or "program"."""
    rating: float | None = None


def stronger_players(game: Game, engine: float | None) -> list[Stronger]:
    """Return the players who may be stronger, by the record, than an engine of this rating (None:
    unknown)."""
    found = []
    threshold = STRONG_RATING if engine is None else engine
    for turn in COLORS:
        name = game.black if turn == BLACK else game.white
        rating = game.rating(turn)
        if rating is not None and rating >= threshold:
            found.append(Stronger(turn, name, "rating", rating))
        elif _PROFESSIONAL.search(name.strip()):
            found.append(Stronger(turn, name, "professional"))
        elif _PROGRAM.search(name) or (threshold < GPSFISH_RATING and _LIKE_GPSFISH.search(name)):
            found.append(Stronger(turn, name, "program"))
    return found
