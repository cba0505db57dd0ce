"""Pictures of boards."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape

from komadori._core.rules import Move
from komadori.rules.pieces import BLACK, COLORS, Piece, PieceType, square_name

# Lengths in the picture's own units; `width` scales the whole.
_CELL_W, _CELL_H = 44.0, 48.0
_HAND_W = 62.0
_TOP, _RIGHT, _MARGIN = 24.0, 24.0, 12.0
_BOARD_W, _BOARD_H = 9 * _CELL_W, 9 * _CELL_H
_LEFT = _MARGIN + _HAND_W + 10
_WIDTH = _LEFT + _BOARD_W + _RIGHT + 10 + _HAND_W + _MARGIN
_HEIGHT = _TOP + _BOARD_H + _MARGIN

_FONT = (
    "'Noto Serif CJK JP','Noto Serif JP','Hiragino Mincho ProN','Yu Mincho','MS PMincho',"
    "'Noto Sans CJK JP','IPAexMincho',serif"
)
_FILES, _RANKS = "１２３４５６７８９", "一二三四五六七八九"
# A shogi piece's outline in a unit square, its point up.
_OUTLINE = ((0.50, 0.03), (0.80, 0.15), (0.94, 0.97), (0.06, 0.97), (0.20, 0.15))

_STYLE = f"""
.wood{{fill:#f2ce85}} .stand{{fill:#e3b566}} .line{{stroke:#5b4420;stroke-width:1}}
.frame{{fill:none;stroke:#5b4420;stroke-width:2.2}} .dot{{fill:#5b4420}}
.piece{{fill:#fdeec8;stroke:#6b4f1f;stroke-width:1}}
.last{{fill:#f08c3a;fill-opacity:.55}} .from{{fill:#f08c3a;fill-opacity:.25}}
.check{{fill:#d7263d;fill-opacity:.55}}
text{{font-family:{_FONT};text-anchor:middle;fill:#1c1408}}
.promoted{{fill:#b3161b}} .label{{font-size:13px;fill:#4a3818}}
.count{{font-size:15px;font-weight:bold}} .side{{font-size:17px}}
.share{{font-family:sans-serif;font-size:11.5px;font-weight:bold;fill:#fff;paint-order:stroke;
stroke:#0b3d68;stroke-width:3px;stroke-linejoin:round}}
"""


class _Frame:
    """Where things lie, for one way of looking at the board."""

    def __init__(self, flipped: bool) -> None:
        self.flipped = flipped

    def corner(self, square: int) -> tuple[float, float]:
        """The top left corner of a square."""
        file, rank = divmod(square, 9)
        column, row = (file, 8 - rank) if self.flipped else (8 - file, rank)
        return _LEFT + column * _CELL_W, _TOP + row * _CELL_H

    def center(self, square: int) -> tuple[float, float]:
        x, y = self.corner(square)
        return x + _CELL_W / 2, y + _CELL_H / 2

    def is_below(self, color: int) -> bool:
        return (color == BLACK) != self.flipped

    def hand_slot(self, color: int, index: int) -> tuple[float, float]:
        """The centre of a place on a piece stand."""
        if self.is_below(color):
            return _WIDTH - _MARGIN - _HAND_W / 2, _TOP + _BOARD_H - 28 - 44 * (6 - index)
        return _MARGIN + _HAND_W / 2, _TOP + 28 + 44 * (6 - index)


def _piece(
    x: float, y: float, kind: PieceType, upside_down: bool, scale: float = 1.0, title: str = ""
) -> str:
    w, h = 38 * scale, 42 * scale
    points = " ".join(f"{(px - 0.5) * w:.1f},{(py - 0.5) * h:.1f}" for px, py in _OUTLINE)
    turn = " rotate(180)" if upside_down else ""
    # Black's king is written 玉, White's 王, as sets have one of each.
    glyph = "王" if kind is PieceType.KING and upside_down else kind.kanji
    colour = ' class="promoted"' if kind.is_promoted else ""
    tip = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<g transform="translate({x:.1f},{y:.1f}){turn}">{tip}'
        f'<polygon class="piece" points="{points}"/>'
        f'<text{colour} y="{10.5 * scale:.1f}" font-size="{25 * scale:.1f}">{glyph}</text></g>'
    )


def _grid(frame: _Frame) -> Iterable[str]:
    yield (
        f'<rect class="wood" x="{_LEFT - 7}" y="{_TOP - 20}" width="{_BOARD_W + 32}" '
        f'height="{_BOARD_H + 28}" rx="4"/>'
    )
    for i in range(10):
        x, y = _LEFT + i * _CELL_W, _TOP + i * _CELL_H
        yield f'<path class="line" d="M{x} {_TOP}V{_TOP + _BOARD_H}"/>'
        yield f'<path class="line" d="M{_LEFT} {y}H{_LEFT + _BOARD_W}"/>'
    yield (f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_BOARD_W}" height="{_BOARD_H}"/>')
    for i in (3, 6):
        for j in (3, 6):
            yield (
                f'<circle class="dot" cx="{_LEFT + i * _CELL_W}" cy="{_TOP + j * _CELL_H}" r="3"/>'
            )
    for i in range(9):
        x, _ = frame.center(9 * i)
        _, y = frame.center(i)
        yield f'<text class="label" x="{x}" y="{_TOP - 6}">{_FILES[i]}</text>'
        yield f'<text class="label" x="{_LEFT + _BOARD_W + 12}" y="{y + 5}">{_RANKS[i]}</text>'


def _stand(
    frame: _Frame, color: int, held: Sequence[tuple[PieceType, int]], to_move: bool
) -> Iterable[str]:
    below = frame.is_below(color)
    x = _WIDTH - _MARGIN - _HAND_W if below else _MARGIN
    y = _TOP + _BOARD_H - 340 if below else _TOP
    yield f'<rect class="stand" x="{x}" y="{y}" width="{_HAND_W}" height="340" rx="4"/>'
    mark = "☗" if color == BLACK else "☖"
    ring = ' font-weight="bold"' if to_move else ' fill-opacity=".45"'
    name = f"{mark}{'先手' if color == BLACK else '後手'}"
    at = y + 22 if below else y + 340 - 10
    yield f'<text class="side" x="{x + _HAND_W / 2}" y="{at}"{ring}>{name}</text>'
    for index, (kind, count) in enumerate(held):
        cx, cy = frame.hand_slot(color, index)
        shift = 10 if count > 1 else 0
        yield _piece(cx - shift, cy, kind, not below, 0.9)
        if count > 1:
            yield f'<text class="count" x="{cx + 19}" y="{cy + 6}">{count}</text>'


def _arrow(start: tuple[float, float], end: tuple[float, float], weight: float) -> str:
    """From start to end, the head's point a little short of the end."""
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    half = 1.5 + 4.5 * weight
    head = 2.2 * half + 4
    bx, by = x1 - ux * head, y1 - uy * head
    corners = [
        (x0 - uy * half * 0.6, y0 + ux * half * 0.6),
        (bx - uy * half, by + ux * half),
        (bx - uy * half * 2.2, by + ux * half * 2.2),
        (x1, y1),
        (bx + uy * half * 2.2, by - ux * half * 2.2),
        (bx + uy * half, by - ux * half),
        (x0 + uy * half * 0.6, y0 - ux * half * 0.6),
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return (
        f'<polygon points="{points}" fill="#1769aa" fill-opacity="{0.35 + 0.5 * weight:.2f}" '
        f'stroke="#0b3d68" stroke-opacity=".6" stroke-width=".8"/>'
    )


def _mark(frame: _Frame, square: int, name: str) -> str:
    x, y = frame.corner(square)
    return f'<rect class="{name}" x="{x}" y="{y}" width="{_CELL_W}" height="{_CELL_H}"/>'


def board_svg(
    pieces: Mapping[int, Piece],
    hands: Mapping[int, Sequence[tuple[PieceType, int]]],
    *,
    turn: int,
    arrows: Sequence[tuple[Move, float]],
    lastmove: Move | None,
    check: int | None,
    flipped: bool,
    width: int,
    labels: bool,
) -> str:
    """SVG text of a placement; see `Board.svg`."""
    frame = _Frame(flipped)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" '
        f'width="{width}" height="{width * _HEIGHT / _WIDTH:.0f}">',
        f"<style>{_STYLE}</style>",
        *_grid(frame),
    ]
    if lastmove is not None:
        out.append(_mark(frame, lastmove.to_square, "last"))
        if lastmove.from_square is not None:
            out.append(_mark(frame, lastmove.from_square, "from"))
    if check is not None:
        out.append(_mark(frame, check, "check"))
    for square, piece in sorted(pieces.items()):
        x, y = frame.center(square)
        title = f"{square_name(square)} {piece.symbol}"
        out.append(_piece(x, y, piece.type, not frame.is_below(piece.color), title=title))
    for color in COLORS:
        out += _stand(frame, color, hands[color], color == turn)
    shares = []
    lines_on: dict[int, int] = {}  # labels already on a square: further ones go above
    for move, weight in sorted(arrows, key=lambda pair: pair[1]):
        share = min(1.0, max(0.0, weight))
        end = frame.center(move.to_square)
        if move.from_square is not None:
            start = frame.center(move.from_square)
        else:
            held = [kind for kind, _ in hands[turn]]
            index = held.index(PieceType(move.drop)) if move.drop in held else 0
            start = frame.hand_slot(turn, index)
        out.append(_arrow(start, end, share))
        if labels:
            line = lines_on.get(move.to_square, 0)
            lines_on[move.to_square] = line + 1
            shares.append((end[0], end[1] + 20 - 13 * line, f"{100 * weight:.0f}%"))
    for x, y, text in shares:
        out.append(f'<text class="share" x="{x:.1f}" y="{y:.1f}">{text}</text>')
    out.append("</svg>")
    return "\n".join(out)
