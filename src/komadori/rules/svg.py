"""Board pictures as SVG, with glyphs as outlines: no font has to be installed.

A picture has no style sheet of its own, so several can be embedded in one page without side
effects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, Literal
from xml.sax.saxutils import escape

from komadori._core.rules import Move
from komadori.rules.pieces import BLACK, COLORS, Piece, PieceType, square_name

#: How pieces and coordinates are written.
PieceStyle = Literal["kanji", "western"]

# Lengths in the picture's own units; `width` scales the whole.
CELL_WIDTH: Final = 44.0
CELL_HEIGHT: Final = 48.0
_HAND_W = 62.0
_TOP, _RIGHT, _MARGIN = 24.0, 24.0, 12.0
_BOARD_W, _BOARD_H = 9 * CELL_WIDTH, 9 * CELL_HEIGHT
_LEFT = _MARGIN + _HAND_W + 10
_WIDTH = _LEFT + _BOARD_W + _RIGHT + 10 + _HAND_W + _MARGIN
_HEIGHT = _TOP + _BOARD_H + _MARGIN

_FILES = {"kanji": "１２３４５６７８９", "western": "123456789"}
_RANKS = {"kanji": "一二三四五六七八九", "western": "abcdefghi"}
_SIDES = ("先手", "後手")
_INK, _RED, _LABEL, _LINE = "#1c1408", "#b3161b", "#4a3818", "#5b4420"
# A shogi piece's outline in a unit square, its point up.
_OUTLINE = ((0.50, 0.03), (0.80, 0.15), (0.94, 0.97), (0.06, 0.97), (0.20, 0.15))

_GOLD = ((-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (0, 1))
_DIAGONAL = ((-1, -1), (1, -1), (-1, 1), (1, 1))
_STRAIGHT = ((0, -1), (-1, 0), (1, 0), (0, 1))
#: Steps and slides of a piece, x to the right and y towards its owner: drawn on Western pieces.
_STEPS: Final[Mapping[PieceType, tuple[tuple[int, int], ...]]] = {
    PieceType.PAWN: ((0, -1),),
    PieceType.KNIGHT: ((-1, -2), (1, -2)),
    PieceType.SILVER: ((0, -1), *_DIAGONAL),
    PieceType.GOLD: _GOLD,
    PieceType.KING: (*_STRAIGHT, *_DIAGONAL),
    PieceType.PRO_PAWN: _GOLD,
    PieceType.PRO_LANCE: _GOLD,
    PieceType.PRO_KNIGHT: _GOLD,
    PieceType.PRO_SILVER: _GOLD,
    PieceType.HORSE: _STRAIGHT,
    PieceType.DRAGON: _DIAGONAL,
}
_SLIDES: Final[Mapping[PieceType, tuple[tuple[int, int], ...]]] = {
    PieceType.LANCE: ((0, -1),),
    PieceType.BISHOP: _DIAGONAL,
    PieceType.HORSE: _DIAGONAL,
    PieceType.ROOK: _STRAIGHT,
    PieceType.DRAGON: _STRAIGHT,
}


@cache
def _glyphs() -> dict[str, Any]:
    text = resources.files("komadori.rules").joinpath("glyphs.json").read_text("utf-8")
    glyphs: dict[str, Any] = json.loads(text)["glyphs"]
    return glyphs


def written(text: str, x: float, y: float, size: float, **attributes: str) -> str:
    """Text as outlines, centred at x with its baseline at y."""
    scale = size / 1000
    start = x - sum(_glyphs()[char]["width"] for char in text) * scale / 2
    parts = []
    for char in text:
        glyph = _glyphs()[char]
        parts.append(
            f'<path transform="translate({start:.2f},{y:.2f}) scale({scale:.4f})" '
            f'd="{glyph["path"]}"/>'
        )
        start += glyph["width"] * scale
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<g{given}>{''.join(parts)}</g>"


def _mark_of_side(color: int, x: float, y: float, size: float, opacity: float) -> str:
    """☗ or ☖, x and y its centre."""
    points = " ".join(
        f"{x + (px - 0.5) * size:.1f},{y + (py - 0.5) * size:.1f}" for px, py in _OUTLINE
    )
    fill = _INK if color == BLACK else "none"
    return (
        f'<polygon points="{points}" fill="{fill}" stroke="{_INK}" stroke-width="1.2" '
        f'opacity="{opacity}"/>'
    )


def symbol_id(kind: PieceType, color: int, style: PieceStyle = "kanji") -> str:
    """The id under which `piece_symbol` defines a piece; its point is up for either colour."""
    king = "w" if kind is PieceType.KING and color != BLACK and style == "kanji" else ""
    return f"kmd-{style}-{kind.symbol.replace('+', 'x')}{king}"


def piece_symbol(kind: PieceType, color: int, style: PieceStyle = "kanji") -> str:
    """The definition of a piece, 38 wide and 42 high around the origin, its point up."""
    w, h = 38.0, 42.0
    points = " ".join(f"{(px - 0.5) * w:.1f},{(py - 0.5) * h:.1f}" for px, py in _OUTLINE)
    body = (
        f'<polygon points="{points}" fill="#fdeec8" stroke="#6b4f1f" stroke-width="1" '
        'stroke-linejoin="round"/>'
    )
    ink = _RED if kind.is_promoted else _INK
    if style == "western":
        size = 17.0 if kind.is_promoted else 20.0
        text = written(kind.symbol, 0, 9.5, size, fill=ink) + "".join(_moves_of(kind, ink))
    else:
        # Black's king is written 玉, White's 王, as sets have one of each.
        glyph = "王" if kind is PieceType.KING and color != BLACK else kind.kanji
        text = written(glyph, 0, 11.0, 26.0, fill=ink)
    return f'<g id="{symbol_id(kind, color, style)}">{body}{text}</g>'


def _moves_of(kind: PieceType, ink: str) -> Iterator[str]:
    """A dot for each step, a line for each slide."""
    for x, y in _STEPS.get(kind, ()):
        far = (x * 5.0, -15.5) if y == -2 else (x * 13.5 if y >= 0 else x * 10.0, y * 13.0 + 1)
        yield f'<circle cx="{far[0]:g}" cy="{far[1]:g}" r="1.7" fill="{ink}"/>'
    for x, y in _SLIDES.get(kind, ()):
        near, far = (x * 8.5, y * 8.5 + 1), (x * 13.0 if y >= 0 else x * 11.0, y * 15.0 + 1)
        yield (
            f'<path d="M{near[0]:g} {near[1]:g}L{far[0]:g} {far[1]:g}" stroke="{ink}" '
            'stroke-width="1.8" stroke-linecap="round"/>'
        )


def all_symbols(style: PieceStyle = "kanji") -> str:
    """The definitions of every piece, for the `defs` of a page."""
    kinds = [(kind, color) for kind in PieceType for color in COLORS]
    seen = {symbol_id(kind, color, style): (kind, color) for kind, color in kinds}
    return "".join(piece_symbol(kind, color, style) for kind, color in seen.values())


def board_grid(style: PieceStyle = "kanji", *, flipped: bool = False) -> str:
    """An empty board with its coordinates; the corner of the first square is the origin."""
    parts = [
        f'<rect fill="#f2ce85" x="-7" y="-20" width="{_BOARD_W + 32}" height="{_BOARD_H + 28}" '
        'rx="4"/>'
    ]
    lines = "".join(f"M{i * CELL_WIDTH:g} 0v{_BOARD_H:g}" for i in range(10))
    lines += "".join(f"M0 {i * CELL_HEIGHT:g}h{_BOARD_W:g}" for i in range(10))
    parts.append(f'<path fill="none" stroke="{_LINE}" stroke-width="1" d="{lines}"/>')
    parts.append(
        f'<rect fill="none" stroke="{_LINE}" stroke-width="2.2" width="{_BOARD_W:g}" '
        f'height="{_BOARD_H:g}"/>'
    )
    for i in (3, 6):
        for j in (3, 6):
            parts.append(
                f'<circle fill="{_LINE}" cx="{i * CELL_WIDTH:g}" cy="{j * CELL_HEIGHT:g}" r="3"/>'
            )
    for i in range(9):
        column = i if flipped else 8 - i
        row = 8 - i if flipped else i
        x, y = (column + 0.5) * CELL_WIDTH, (row + 0.5) * CELL_HEIGHT
        parts.append(written(_FILES[style][i], x, -6, 13, fill=_LABEL))
        parts.append(written(_RANKS[style][i], _BOARD_W + 12, y + 5, 13, fill=_LABEL))
    return "".join(parts)


class _Frame:
    """Coordinates of the board and the piece stands, normal or flipped."""

    def __init__(self, flipped: bool) -> None:
        self.flipped = flipped

    def corner(self, square: int) -> tuple[float, float]:
        """The top left corner of a square."""
        file, rank = divmod(square, 9)
        column, row = (file, 8 - rank) if self.flipped else (8 - file, rank)
        return _LEFT + column * CELL_WIDTH, _TOP + row * CELL_HEIGHT

    def center(self, square: int) -> tuple[float, float]:
        x, y = self.corner(square)
        return x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2

    def is_below(self, color: int) -> bool:
        return (color == BLACK) != self.flipped

    def hand_slot(self, color: int, index: int) -> tuple[float, float]:
        """The centre of a place on a piece stand."""
        if self.is_below(color):
            return _WIDTH - _MARGIN - _HAND_W / 2, _TOP + _BOARD_H - 28 - 44 * (6 - index)
        return _MARGIN + _HAND_W / 2, _TOP + 28 + 44 * (6 - index)


def _placed(
    piece: Piece, x: float, y: float, frame: _Frame, style: PieceStyle, title: str, scale: float = 1
) -> str:
    turn = "" if frame.is_below(piece.color) else " rotate(180)"
    size = "" if scale == 1 else f" scale({scale})"
    return (
        f'<g class="piece" transform="translate({x:.1f},{y:.1f}){turn}{size}">'
        f"<title>{escape(title)}</title>"
        f'<use href="#{symbol_id(piece.type, piece.color, style)}"/></g>'
    )


def _stand(
    frame: _Frame,
    color: int,
    held: Sequence[tuple[PieceType, int]],
    to_move: bool,
    style: PieceStyle,
) -> Iterable[str]:
    below = frame.is_below(color)
    x = _WIDTH - _MARGIN - _HAND_W if below else _MARGIN
    y = _TOP + _BOARD_H - 340 if below else _TOP
    yield f'<rect fill="#e3b566" x="{x}" y="{y}" width="{_HAND_W}" height="340" rx="4"/>'
    opacity = 1.0 if to_move else 0.45
    at = y + 22 if below else y + 340 - 10
    middle = x + _HAND_W / 2
    if style == "kanji":
        yield _mark_of_side(color, middle - 19, at - 6, 16, opacity)
        yield written(_SIDES[color], middle + 9, at, 17, fill=_INK, opacity=str(opacity))
    else:
        yield _mark_of_side(color, middle, at - 6, 18, opacity)
    for index, (kind, count) in enumerate(held):
        cx, cy = frame.hand_slot(color, index)
        shift = 10 if count > 1 else 0
        piece = Piece(color, kind)
        yield _placed(piece, cx - shift, cy, frame, style, f"{count} {piece.symbol}", 0.9)
        if count > 1:
            yield written(str(count), cx + 19, cy + 6, 16, fill=_INK)


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


def _highlight(frame: _Frame, square: int, name: str, fill: str, opacity: float) -> str:
    x, y = frame.corner(square)
    return (
        f'<rect class="{name}" fill="{fill}" fill-opacity="{opacity}" x="{x}" y="{y}" '
        f'width="{CELL_WIDTH}" height="{CELL_HEIGHT}"/>'
    )


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
    style: PieceStyle = "kanji",
) -> str:
    """SVG text of a placement; see `Board.svg`."""
    frame = _Frame(flipped)
    shown = [(piece.type, piece.color) for piece in pieces.values()]
    shown += [(kind, color) for color in COLORS for kind, _ in hands[color]]
    symbols = {symbol_id(kind, color, style): (kind, color) for kind, color in shown}
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" '
        f'width="{width}" height="{width * _HEIGHT / _WIDTH:.0f}" role="img" aria-label="board">',
        f"<defs>{''.join(piece_symbol(k, c, style) for k, c in symbols.values())}</defs>",
        f'<g transform="translate({_LEFT:g},{_TOP:g})">{board_grid(style, flipped=flipped)}</g>',
    ]
    if lastmove is not None:
        out.append(_highlight(frame, lastmove.to_square, "last", "#f08c3a", 0.55))
        if lastmove.from_square is not None:
            out.append(_highlight(frame, lastmove.from_square, "from", "#f08c3a", 0.25))
    if check is not None:
        out.append(_highlight(frame, check, "check", "#d7263d", 0.55))
    for square, piece in sorted(pieces.items()):
        x, y = frame.center(square)
        out.append(_placed(piece, x, y, frame, style, f"{square_name(square)} {piece.symbol}"))
    for color in COLORS:
        out += _stand(frame, color, hands[color], color == turn, style)
    texts = []
    lines_on: dict[int, int] = {}  # labels already on a square: further ones go above
    for move, weight in sorted(arrows, key=lambda pair: pair[1]):
        weight = min(1.0, max(0.0, weight))
        end = frame.center(move.to_square)
        if move.from_square is not None:
            start = frame.center(move.from_square)
        else:
            held = [kind for kind, _ in hands[turn]]
            index = held.index(PieceType(move.drop)) if move.drop in held else 0
            start = frame.hand_slot(turn, index)
        out.append(_arrow(start, end, weight))
        if labels:
            line = lines_on.get(move.to_square, 0)
            lines_on[move.to_square] = line + 1
            texts.append((end[0], end[1] + 20 - 13 * line, f"{100 * weight:.0f}%"))
    halo = {"fill": "#fff", "stroke": "#0b3d68", "stroke_width": "220", "paint_order": "stroke"}
    for x, y, text in texts:
        out.append(written(text, x, y, 12.5, **halo, stroke_linejoin="round", data_label=text))
    out.append("</svg>")
    return "\n".join(out)
