"""Attack the commands as they are installed, and print how often each promise held.

    python -m tools.torture [--seconds 60] [--rounds 1] [--command C] [CLASS ...]

Ends with 1 where a promise was broken, and prints what broke it at once; Ctrl-C or SIGTERM ends it
with what has been counted so far. Every command that is registered
must stand in `tools/torture/commands.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from tools.torture.attacks import CLASSES, Attack, bring
from tools.torture.commands import COMMANDS, open_shop, registered


def attempt(attack: Attack, target: str, shop: Path, seed: str) -> str:
    """Attack a command once, in a folder of its own; what was broken, or ""."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            if target:
                bring(target, shop, Path(folder))
            attack.run(shop, Path(folder), random.Random(seed), target)
        except Exception as error:
            return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("classes", nargs="*", choices=[[], *CLASSES], metavar="CLASS")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each class")
    parser.add_argument(
        "--rounds", type=int, default=0, help="at least, over all commands of each class"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--command", action="append", choices=COMMANDS, metavar="COMMAND",
                        help="only these; repeatable")  # fmt: skip
    arguments = parser.parse_args()
    if missing := set(registered()) ^ set(COMMANDS):
        print(f"not in tools/torture/commands.py, or no command: {', '.join(sorted(missing))}")
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    broken = 0
    tried_commands: set[str] = set()
    print("| class | promise | commands | tried | broken |\n|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as made, contextlib.suppress(KeyboardInterrupt):
        shop = open_shop(Path(made))
        for name in arguments.classes or CLASSES:
            attack = CLASSES[name]
            end = time.monotonic() + arguments.seconds
            tried, faults, seen = 0, 0, set()
            wanted = arguments.command or COMMANDS
            targets = [
                target for target in attack.targets or [""] if target in wanted or not target
            ]
            if not targets:
                continue
            random.Random(arguments.seed).shuffle(targets)
            try:
                while time.monotonic() < end or tried < arguments.rounds * len(targets):
                    seed = f"{arguments.seed}-{name}-{tried}"
                    target = targets[tried % len(targets)]
                    fault = attempt(attack, target, shop, seed)
                    if fault:
                        print(f"{seed} {target}: {fault}", file=sys.stderr, flush=True)
                    faults += bool(fault)
                    tried += 1
                    seen.add(target)
            finally:
                seen.discard("")
                tried_commands |= seen
                promise = " ".join((attack.run.__doc__ or "").split())
                print(f"| {name} | {promise} | {len(seen)} | {tried} | {faults} |", flush=True)
                broken += faults
    print(f"\n{len(tried_commands)} of {len(COMMANDS)} commands were attacked.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
