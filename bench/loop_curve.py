"""Elo over the generations of a learning loop, from games of equal playouts.

    python bench/loop_curve.py LOOP [--every 3] [--nodes 64] [--games 400] [--player material ...]
        [--ladder curve.db] [-o curve.svg]

Plays generations 0, 3, 6, ..., the last one and the named players against one another in a ladder,
always the pair whose result is most informative. Prints Elo relative to generation 0 as a table and
draws a chart. An interrupted run resumes with the ladder's games.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from komadori import arena
from komadori.arena.ladder import Ladder, make_settings
from komadori.atomic import write_text
from komadori.generate.loop.folder import Rating
from komadori.generate.loop.page import chart

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #555; } .grid { stroke: #e5e5e5; }
.line { stroke: #1f6feb; fill: none; stroke-width: 2; } .error { stroke: #1f6feb; opacity: .45; }
.taken { fill: #1f6feb; } .level { stroke: #b35900; stroke-dasharray: 6 4; }
@media (prefers-color-scheme: dark) { text { fill: #aaa; } .grid { stroke: #2a2d33; } }
"""


def generations(loop: Path, every: int) -> list[int]:
    """Return every nth generation that has a player, and the last one."""
    found = sorted(int(path.parent.name) for path in loop.glob("[0-9]*/player.onnx"))
    return [number for number in found if number % every == 0 or number == found[-1]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("loop", type=Path)
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--player", nargs="*", default=["material"])
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--ladder", type=Path, default=Path("curve.db"))
    parser.add_argument("-o", "--out", type=Path, default=Path("curve.svg"))
    options = parser.parse_args()
    numbers = generations(options.loop, options.every)
    if not options.ladder.exists():
        Ladder.create(options.ladder, make_settings(arena.Conditions(), seed=11)).close()
    with Ladder(options.ladder) as ladder:
        known = {player.name for player in ladder.players()}
        for number in numbers:
            if f"gen{number:03}" not in known:
                model = options.loop / f"{number:03}" / "player.onnx"
                ladder.add(f"gen{number:03}", f"model:{model}?nodes={options.nodes}")
        for name in options.player:
            if name not in known:
                ladder.add(name, name)
        played = sum(one.games for one in ladder.fit().ratings) // 2
        if played < options.games:
            ladder.play(options.games - played, concurrency=options.concurrency)
        found = ladder.fit()
    by_name = {rating.name: rating for rating in found.ratings}
    zero = by_name["gen000"].elo
    print("| player | Elo | score | games |\n|---|--:|--:|--:|")
    for rating in sorted(found.ratings, key=lambda one: one.elo):
        print(
            f"| {rating.name} | {rating.elo - zero:+.0f} ± {rating.error:.0f} "
            f"| {rating.score:.1%} | {rating.games} |"
        )
    curve = [
        Rating(int(name[3:]), rating.elo - zero, rating.error, True)
        for name, rating in sorted(by_name.items())
        if re.fullmatch(r"gen\d+", name)
    ]
    levels = {name: by_name[name].elo - zero for name in options.player}
    svg = chart(curve, levels).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    write_text(options.out, svg.replace(">", f"><style>{STYLE}</style>", 1) + "\n")


if __name__ == "__main__":
    main()
