"""Attack the commands as they are installed, and print how often each promise held.

    python -m tools.torture [--seconds 60] [--rounds 1] [CLASS ...]

Ends with 1 where a promise was broken, and prints what broke it. Every command that is registered
must stand in `tools/torture/commands.py`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tools.torture.attacks import CLASSES, bring
from tools.torture.commands import COMMANDS, open_shop, registered


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("classes", nargs="*", choices=[[], *CLASSES], metavar="CLASS")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each class")
    parser.add_argument(
        "--rounds", type=int, default=0, help="at least, over all commands of each class"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if missing := set(registered()) ^ set(COMMANDS):
        print(f"not in tools/torture/commands.py, or no command: {', '.join(sorted(missing))}")
        return 1
    broken = 0
    tried_commands: set[str] = set()
    print("| class | promise | commands | tried | broken |\n|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as made:
        shop = open_shop(Path(made))
        for name in arguments.classes or CLASSES:
            attack = CLASSES[name]
            end = time.monotonic() + arguments.seconds
            tried, faults, seen = 0, [], set()
            targets = list(attack.targets) or [""]
            random.Random(arguments.seed).shuffle(targets)
            while time.monotonic() < end or tried < arguments.rounds * len(targets):
                seed = f"{arguments.seed}-{name}-{tried}"
                target = targets[tried % len(targets)]
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        if target:
                            bring(target, shop, Path(folder))
                        attack.run(shop, Path(folder), random.Random(seed), target)
                    except Exception as error:
                        text = " ".join(str(error).split())
                        faults.append(f"{seed} {target}: {type(error).__name__}: {text}")
                tried += 1
                seen.add(target)
            seen.discard("")
            tried_commands |= seen
            promise = " ".join((attack.run.__doc__ or "").split())
            print(f"| {name} | {promise} | {len(seen)} | {tried} | {len(faults)} |", flush=True)
            for fault in faults:
                print(fault, file=sys.stderr, flush=True)
            broken += len(faults)
    print(f"\n{len(tried_commands)} of {len(COMMANDS)} commands were attacked.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
