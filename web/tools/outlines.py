"""Writes src/board/outlines.json: the outlines of the characters that stand on the pieces.

The characters are drawn in two fonts under the SIL Open Font License 1.1, Yuji Syuku (kanji) and
Kaisei Tokumin (letters). Needs fonttools and brotli from PyPI, and the fonts:
npm install --no-save @fontsource/yuji-syuku @fontsource/kaisei-tokumin
"""

import json
import sys
from pathlib import Path

from fontTools.pens.boundsPen import BoundsPen
from fontTools.pens.svgPathPen import SVGPathPen
from fontTools.pens.transformPen import TransformPen
from fontTools.ttLib import TTFont

WEB = Path(__file__).parent.parent
KANJI = "王玉飛角金銀桂香歩龍馬全圭杏と"
LETTERS = "KRBGSNLP+"
EM = 100


def outlines(folder: Path, weight: int, characters: str) -> dict[str, str]:
    """Each character's SVG path, its box centred on the origin, `EM` units to the em, y down."""
    found = {}
    for file in sorted(folder.glob(f"*-{weight}-normal.woff2")):
        font = TTFont(file)
        glyphs, cmap = font.getGlyphSet(), font.getBestCmap()
        scale = EM / font["head"].unitsPerEm
        for character in set(characters) - set(found):
            if ord(character) not in cmap:
                continue
            glyph = glyphs[cmap[ord(character)]]
            bounds = BoundsPen(glyphs)
            glyph.draw(bounds)
            x0, y0, x1, y1 = bounds.bounds
            pen = SVGPathPen(glyphs, ntos=lambda v: f"{v:.1f}".removesuffix(".0"))
            dx, dy = -(x0 + x1) / 2 * scale, (y0 + y1) / 2 * scale
            glyph.draw(TransformPen(pen, (scale, 0, 0, -scale, dx, dy)))
            found[character] = pen.getCommands()
    missing = set(characters) - set(found)
    if missing:
        sys.exit(f"{folder}: no glyph for {' '.join(sorted(missing))}")
    return {character: found[character] for character in characters}


def main() -> None:
    fonts = Path(sys.argv[1]) if len(sys.argv) > 1 else WEB / "node_modules/@fontsource"
    table = outlines(fonts / "yuji-syuku/files", 400, KANJI)
    table |= outlines(fonts / "kaisei-tokumin/files", 800, LETTERS)
    path = WEB / "src/board/outlines.json"
    path.write_text(json.dumps(table, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


main()
