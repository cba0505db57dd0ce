"""Write the glyph outlines of board images and the subset font of pages.

Needs fontTools, brotli and the Noto CJK fonts (Debian: fonts-noto-cjk, fonts-noto-cjk-extra). Run
it when a character is added; `--check` only reports missing characters.

src/komadori/rules/glyphs.json       outlines for board images, Noto Serif CJK JP Bold
src/komadori/analysis/page/ui.woff2  the characters of the pages' texts, Noto Sans CJK JP, which are
                                     listed in ui.txt
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GLYPHS = ROOT / "src/komadori/rules/glyphs.json"
PAGE = ROOT / "src/komadori/analysis/page"
FONT = PAGE / "ui.woff2"
CHARACTERS = PAGE / "ui.txt"
FONTS = Path("/usr/share/fonts/opentype/noto")
SOURCE = "Noto Serif CJK JP Bold, SIL Open Font License 1.1"

#: Pieces (promoted ones as one character), coordinates, names of the sides, Western letters.
ON_BOARDS = (
    "歩香桂銀角飛金玉王と杏圭全馬龍一二三四五六七八九１２３４５６７８９先後上下手"
    "0123456789%PLNSBRGK+abcdefghi"
)
#: In addition to the texts: notation, digits, marks, headers of records, kana and all of ASCII.
IN_PAGES = (
    "１２３４５６７８９一二三四五六七八九同歩香桂銀角飛金玉王と成杏圭全馬竜龍打右左上寄引直行入不"
    "▲△☗☖▼▽　、。・「」（）：！？…→←↑↓×±−–—“”‘’"
    "平落枚十千日持将棋投了詰反則勝負切時間中断宣言最大数裁定引分封"
    "名叡聖座段級期第世予選準組回会館東京大阪電脳順位挑戦者番々〜"
    + "".join(map(chr, (*range(32, 127), *range(0x3041, 0x3097), *range(0x30A1, 0x30FD))))
)


def outlines() -> dict[str, Any]:
    """Return the outlines: y points down, 1000 units per em, baseline at 0."""
    from fontTools.pens.svgPathPen import SVGPathPen
    from fontTools.pens.transformPen import TransformPen
    from fontTools.ttLib import TTCollection

    fonts = TTCollection(str(FONTS / "NotoSerifCJK-Bold.ttc"))
    font = next(f for f in fonts if f["name"].getDebugName(1) == "Noto Serif CJK JP")
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    scale = 1000 / font["head"].unitsPerEm
    paths = {}
    for char in ON_BOARDS:
        glyph = glyphs[names[ord(char)]]
        pen = SVGPathPen(glyphs, ntos=lambda v: f"{round(v)}")
        glyph.draw(TransformPen(pen, (scale, 0, 0, -scale, 0, 0)))
        paths[char] = {"width": round(glyph.width * scale), "path": pen.getCommands()}
    return {"source": SOURCE, "glyphs": paths}


def page_characters() -> str:
    """Return the characters of pages, sorted: IN_PAGES, all texts of the analysis package (names of
    mistakes and comments stand in its code), and what other packages say on pages.
    """
    from komadori.analysis.strength import measured, statement
    from komadori.rules import HANDICAPS
    from komadori.search.defaults import ANALYSIS_NODES
    from komadori.search.many import Effort

    texts = (PAGE / "texts.json").read_text("utf-8")
    texts += "".join(path.read_text("utf-8") for path in sorted(PAGE.parent.rglob("*.py")))
    texts += "".join(handicap.kif for handicap in HANDICAPS.values())
    texts += Effort(nodes=1).in_japanese() + Effort(seconds=1).in_japanese()
    texts += "".join(statement(measured(player)).get("ja", "") for player in ANALYSIS_NODES)
    return "".join(sorted({*IN_PAGES, *texts} - {"\n"}))


def subset() -> None:
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTCollection

    fonts = TTCollection(str(FONTS / "NotoSansCJK-Regular.ttc"))
    font = next(f for f in fonts if f["name"].getDebugName(1) == "Noto Sans CJK JP")
    options = Options(flavor="woff2", layout_features=["kern", "palt"], hinting=False)
    options.name_IDs = [0, 13, 14]
    options.notdef_outline = True  # a character of a name that is missing shows as a box
    subsetter = Subsetter(options)
    subsetter.populate(text=page_characters())
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(str(FONT))
    CHARACTERS.write_text("".join(map(chr, sorted(font.getBestCmap()))) + "\n", "utf-8")


def missing() -> list[str]:
    """Return the characters of the texts that are missing in the committed font."""
    known = CHARACTERS.read_text("utf-8")
    return [char for char in page_characters() if char not in known]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        absent = missing()
        sys.exit(f"missing in ui.woff2: {''.join(absent)!r}" if absent else 0)
    GLYPHS.write_text(json.dumps(outlines(), ensure_ascii=False, indent=0) + "\n", "utf-8")
    subset()
    print(f"{GLYPHS}: {GLYPHS.stat().st_size:,} bytes; {FONT}: {FONT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
