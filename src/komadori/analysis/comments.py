"""Reading and writing of analyses in comments: ShogiHome, ShogiGUI, Kifu for Windows.

All give scores from Black's view, for the position after the commented move.

ShogiHome        `*#評価値=58`, `*#詰み=先手勝ち:3手`, `*#読み筋=△３四歩(33)…`, `*#エンジン=`
ShogiGUI,        `**解析 0 ○ 候補1 時間 00:05.2 深さ 17/24 ノード数 1,234 評価値 -詰 3 読み筋 △…`
Kifu for Windows and `*検討 …`, `*対局 …`; the line of `対局` begins with the move played
floodgate        `'** 58 -3334FU …`, which the CSA reader stores in `Game.scores_cp` and `pvs`
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from komadori.analysis.games import GRADES, AnalysedGame, grade_of, in_japanese, points_lost
from komadori.analysis.positions import UNKNOWN_LENGTH, Found, Line
from komadori.encoding import value
from komadori.records import Game
from komadori.records.game import MATE_CP, NO_SCORE, score_to_record
from komadori.records.text import score_comment
from komadori.rules import BLACK, Board, Move, RulesError
from komadori.wording import check_type

#: Comment formats that can be written.
CommentStyle = Literal["shogihome", "shogigui"]

#: Evaluation coefficient assumed for other engines' scores: ShogiHome's.
SCORE_COEF = value.ELMO_COEF

_HOME = re.compile(r"([*#])(評価値|詰み|読み筋|深さ|ノード数|エンジン)=\s*(.*)")
_HOME_MATE = re.compile(r"(先手|後手)勝ち(?::(\d{1,4})手)?")
_GUI = re.compile(r"\*?(解析|検討|対局)\s.*?評価値\s*([+-]?)\s*(詰)?\s*([+-]?\d{1,9})?")
_GUI_NUMBER = re.compile(r"候補\s*(\d{1,3})")
_GUI_NODES = re.compile(r"ノード数\s*([\d,]{1,20})")
_GUI_LINE = re.compile(r"読み筋\s*(.*)")
_GUI_ENGINE = re.compile(r"\*?Engines?\s+\d+\s+(.+)")
#: A mistake, as written here and by the browser interface.
_MISTAKE = re.compile(
    rf"komadori(?:：【|: (?i:{'|'.join(f'{g.name}|{g.japanese}' for g in GRADES)})(?:,| −))"
)
_TOKEN = re.compile(r"[▲△☗☖▼▽][^▲△☗☖▼▽]+")


@dataclass(frozen=True)
class Remark:
    """One line of an analysis in a comment."""

    is_players: bool
    """The score is a player's, not from an analysis."""
    number: int
    """1 for the best line."""
    score_cp: int | None
    """Black's view; None for a mate or without a score."""
    mate_plies: int | None
    """Positive if Black mates; UNKNOWN_LENGTH if the length is unknown."""
    nodes: int
    line: str

    @property
    def mate(self) -> int | None:
        """`mate_plies`, also for a score that stands for a mate, as CSA records write it."""
        if self.mate_plies is None and self.score_cp in (MATE_CP, -MATE_CP):
            return UNKNOWN_LENGTH if self.score_cp > 0 else -UNKNOWN_LENGTH
        return self.mate_plies


def read_remarks(comment: str) -> tuple[list[Remark], str]:
    """Parse a comment: its lines, best first, and the engine's name ("" if none)."""
    remarks, engine = [], ""
    home: dict[str, dict[str, str]] = {"*": {}, "#": {}}
    for row in comment.split("\n"):
        if (match := _HOME.fullmatch(row)) is not None:
            home[match[1]].setdefault(match[2], match[3].strip())
        elif (match := _GUI_ENGINE.fullmatch(row)) is not None:
            engine = engine or match[1].strip()
        elif (match := _GUI.match(row)) is not None:
            remarks.append(_of_gui(row, match))
    for mark, words in home.items():
        remark = _of_home(words, is_players=mark == "*")
        if remark is not None:
            remarks.append(remark)
        engine = engine or words.get("エンジン", "")
    return sorted(remarks, key=lambda remark: (remark.is_players, remark.number)), engine


def without_analysis(comment: str) -> str:
    """Return a comment without the lines of analyses; players' scores are kept."""
    return "\n".join(row for row in comment.split("\n") if not _is_of_analysis(row))


def without_scores(comment: str) -> str:
    """Return a comment without the lines of analyses and of players' scores."""
    return "\n".join(
        row
        for row in comment.split("\n")
        if not (_is_of_analysis(row) or _HOME.fullmatch(row) or _GUI.match(row))
    )


def _is_of_analysis(row: str) -> bool:
    if _MISTAKE.match(row) is not None:
        return True
    if (match := _HOME.fullmatch(row)) is not None:
        return match[1] == "#"
    if (match := _GUI.match(row)) is not None:
        return match[1] != "対局"
    return _GUI_ENGINE.fullmatch(row) is not None


def _of_home(words: dict[str, str], *, is_players: bool) -> Remark | None:
    score, mate = None, None
    if (match := _HOME_MATE.match(words.get("詰み", ""))) is not None:
        mate = _length(match[2]) * (1 if match[1] == "先手" else -1)
    elif (text := words.get("評価値", "")) and (match := re.match(r"([+-]?)詰(\d{0,4})", text)):
        mate = _length(match[2]) * (-1 if match[1] == "-" else 1)
    elif (match := re.match(r"[+-]?\d{1,9}", text)) is not None:
        score = int(match[0])
    else:
        return None
    nodes = re.sub(r"\D", "", words.get("ノード数", ""))[:18]
    return Remark(is_players, 1, score, mate, int(nodes or 0), words.get("読み筋", ""))


def _length(digits: str | None) -> int:
    """Return the plies to a mate; GUIs write none or 0 if they don't know them."""
    return abs(int(digits or 0)) or UNKNOWN_LENGTH


def _of_gui(row: str, match: re.Match[str]) -> Remark:
    score, mate = None, None
    if match[3]:
        mate = _length(match[4]) * (-1 if match[2] == "-" else 1)
    elif match[4]:
        score = int(match[2] + match[4].lstrip("+")) if match[2] != "+" else int(match[4])
    number = _GUI_NUMBER.search(row)
    nodes = _GUI_NODES.search(row)
    line = _GUI_LINE.search(row)
    return Remark(
        is_players=match[1] == "対局",
        number=int(number[1]) if number else 1,
        score_cp=score,
        mate_plies=mate,
        nodes=int(nodes[1].replace(",", "") or 0) if nodes else 0,
        line=line[1].strip() if line else "",
    )


def read_line(text: str, board: Board, played: Move | None) -> list[str]:
    """Return a line's USI moves up to the first illegal one.

    From `board`, or from before its last move, `played`, if the line begins with that.
    """
    tokens = [token.strip(" \t　") for token in _TOKEN.findall(text)] or text.split()
    moves = _play(tokens, board)
    if moves or not tokens or played is None:
        return moves
    board.pop()
    earlier = _play(tokens, board)
    board.push(played)
    return earlier[1:] if earlier[:1] == [played.usi()] else []


def _play(tokens: Sequence[str], board: Board) -> list[str]:
    """Return the USI moves of tokens up to the first illegal one; the board is left as it was."""
    moves: list[str] = []
    for token in tokens:
        if token[0] in "▲☗▼△☖▽" and (token[0] in "▲☗▼") != (board.turn == BLACK):
            break
        try:
            move = board.parse_kif(token) if token[0] in "▲☗▼△☖▽" else board.parse_usi(token)
        except RulesError:
            break
        board.push(move)
        moves.append(move.usi())
    for _ in moves:
        board.pop()
    return moves


def from_comments(game: Game) -> AnalysedGame | None:
    """Return the analysis in a record's comments and scores; None if there is none.

    Scores of an analysis take precedence over those of the players.
    """
    check_type("game", game, Game)
    found: list[Found | None] = []
    engine = ""
    board = game.board()  # one for all positions: a copy takes as long as its history
    for ply in range(len(game) + 1):
        played = board.move_from_move16(int(game.moves[ply - 1])) if ply else None
        if played is not None:
            board.push(played)
        remarks, named = read_remarks(game.comments.get(ply, ""))
        engine = engine or named
        if any(not remark.is_players for remark in remarks):
            remarks = [remark for remark in remarks if not remark.is_players]
        elif ply and game.scores_cp[ply - 1] != NO_SCORE:
            said = _player_remark(game, ply, board.turn)
            remarks = [remark for remark in remarks if _agrees(remark, said)] or [said]
        lines = [_as_line(remark, board, played, game.pvs.get(ply, "")) for remark in remarks]
        kept = [line for line in lines if line is not None]
        nodes = max((remark.nodes for remark in remarks), default=0)
        found.append(Found(kept[0].win_rate, nodes, tuple(kept)) if kept else None)
    if all(position is None for position in found):
        return None
    return AnalysedGame(game, found, engine, is_of_record=True)


def _player_remark(game: Game, ply: int, turn: int) -> Remark:
    """Return the score of the player who made the move; `turn` is the other side."""
    score = int(game.scores_cp[ply - 1]) * (-1 if turn == BLACK else 1)
    return Remark(True, 1, score, None, 0, "")


def _agrees(remark: Remark, said: Remark) -> bool:
    """Whether a remark has the same score, perhaps with more, such as the plies to a mate."""
    if remark.mate is None or said.mate is None:
        return (remark.score_cp, remark.mate) == (said.score_cp, said.mate)
    return (remark.mate > 0) == (said.mate > 0)


def _as_line(remark: Remark, board: Board, played: Move | None, pv: str) -> Line | None:
    sign = 1 if board.turn == BLACK else -1
    moves = read_line(remark.line or pv, board, played)
    if remark.mate is not None:
        mate = sign * remark.mate
        return Line(1.0 if mate > 0 else 0.0, mate, None, remark.nodes, tuple(moves))
    if remark.score_cp is None:
        return None
    score = sign * remark.score_cp
    rate = value.win_rate_from_score(float(score), SCORE_COEF)
    return Line(rate, None, score, remark.nodes, tuple(moves))


def annotated(
    analysed: AnalysedGame,
    label: str = "komadori",
    *,
    is_csa: bool = False,
    style: CommentStyle = "shogihome",
    language: Literal["ja", "en"] = "en",
) -> Game:
    """Return the game annotated after each move, by the conventions of its format.

    KIF and others: comments as in ShogiHome's or ShogiGUI's analyses. An earlier analysis in the
    comments is replaced; other comments and the players' are kept.
    CSA: `'** <centipawns, Black's view> <line>` after each move, as on floodgate, replacing the
    record's scores; the rest as comments.
    """
    check_type("analysed", analysed, AnalysedGame)
    game = analysed.game
    comments = dict(game.comments)
    scores = game.scores_cp.copy()
    for ply, text in game.comments.items():
        if analysed.is_of_record or (rest := without_analysis(text)) == text:
            continue
        comments[ply] = rest
        if ply and score_comment(game, ply) is None:  # the score was the earlier analysis's
            scores[ply - 1] = NO_SCORE
    pvs = dict(game.pvs)
    made = {mistake.ply: mistake for mistake in analysed.mistakes()}
    if style == "shogigui" and not is_csa and not analysed.is_of_record:
        comments[0] = "\n".join([*filter(None, [comments.get(0)]), f"*Engines 0 {label}"])
    for ply in range(1, len(game) + 1):
        found, board = analysed.found[ply], analysed.boards[ply]
        added = []
        if is_csa:
            pvs.pop(ply, None)
            if found is not None:
                scores[ply - 1] = -_centipawns(found)
                if found.best and found.best.pv:
                    pvs[ply] = " ".join(found.best.pv)
        elif found is not None and not analysed.is_of_record:
            added += _written(found, board, style)
        if ply in made:
            mistake = made[ply]
            better = in_japanese(analysed.boards[ply - 1], mistake.best.pv[:1])
            lost = points_lost(mistake.loss)
            before, after = (f"{100 * rate:.0f}%" for rate in (mistake.before, mistake.after))
            if language == "ja":
                grade = grade_of(mistake.loss)
                assert grade is not None
                rest = f"、最善は{better}" if better else ""
                added.append(
                    f"{label}：【{grade.japanese}】{lost}ポイント損、勝率{before}→{after}{rest}"
                )
            else:
                rest = f"; better: {better}" if better else ""
                added.append(
                    f"{label}: {mistake.grade}, {lost} points lost, {before} -> {after}{rest}"
                )
        if added:
            comments[ply] = "\n".join([*filter(None, [comments.get(ply)]), *added])
    comments = {ply: text for ply, text in comments.items() if text}
    return replace(game, comments=comments, scores_cp=scores, pvs=pvs)


def _written(found: Found, board: Board, style: CommentStyle) -> list[str]:
    """Return the comment lines of a position, without KIF's leading `*`."""
    score, mate = _black_view(found, board.turn)
    if style == "shogigui":
        rows = []
        for number, line in enumerate(found.lines or (None,), 1):
            score, mate = _black_view(found, board.turn, line)
            sign = "+" if (mate > 0 if mate else _black_wins(found, board.turn)) else "-"
            text = f"{score}" if mate is None else f"{sign}詰 {_digits(mate)}".rstrip()
            moves = " ".join(_TOKEN.findall(in_japanese(board, line.pv))) if line else ""
            depth = f"深さ {line.depth} " if line and line.depth else ""
            rows.append(
                f"*解析 0 候補{number} {depth}"
                f"ノード数 {line.visits if line else found.visits} 評価値 {text} 読み筋 {moves}"
            )
        return rows
    if mate is None:
        rows = [f"#評価値={score:+d}"]
    else:
        digits = _digits(mate) if mate else ""
        length = f":{digits}手" if digits else ""
        rows = [f"#詰み={'先手' if _black_wins(found, board.turn) else '後手'}勝ち{length}"]
    if found.best and found.best.pv:
        rows.append(f"#読み筋={in_japanese(board, found.best.pv)}")
    return rows


def _digits(mate: int) -> str:
    """Return the plies to a mate as text, "" if unknown."""
    return str(abs(mate)) if abs(mate) < UNKNOWN_LENGTH else ""


def _black_wins(found: Found, turn: int) -> bool:
    return (found.win_rate > 0.5) == (turn == BLACK)


def _black_view(found: Found, turn: int, line: Line | None = None) -> tuple[int, int | None]:
    """Return centipawns and plies to mate (0 if the game is over), both from Black's view."""
    sign = 1 if turn == BLACK else -1
    line = line or found.best
    if line is None:
        return (0, None) if found.win_rate == 0.5 else (0, 0)
    if line.mate_plies is not None:
        return 0, sign * line.mate_plies
    assert line.score_cp is not None
    return sign * line.score_cp, None


def _centipawns(found: Found) -> int:
    """Return the score from the side to move's view; a mate is MATE_CP."""
    best = found.best
    if best is not None:
        cp, mate = best.score_cp, best.mate_plies
        return score_to_record(None, mate) if cp is None else cp
    return 0 if found.win_rate == 0.5 else score_to_record(None, 1 if found.win_rate > 0.5 else -1)
