"""Inject faults into the installed commands and count violated guarantees.

    python -m tools.torture [--seconds 60] [--rounds 1] [--command C] [CLASS ...]
    python -m tools.torture --list

Prints each violation immediately, with its seed, and exits with status 1 if there is one. Ctrl-C or
SIGTERM stops it; the counts so far are printed. `tools/torture/commands.py` must have an entry for
every command. --list prints the fault and the guarantee of each class.
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

from tools.torture.attacks import CLASSES, Attack, copy_inputs
from tools.torture.commands import COMMANDS, make_inputs, registered


def classes_table() -> str:
    """Return the fault and the guarantee of each class, as a table."""
    rows = (f"| {name} | {attack.guarantee} |\n" for name, attack in CLASSES.items())
    return "| class | fault: what must hold |\n|---|---|\n" + "".join(rows)


#: The columns of the counts.
HEAD = "| class | commands | tried | violated |\n|---|---:|---:|---:|"


def attempt(attack: Attack, target: str, inputs: Path, seed: str) -> str:
    """Attack a command once, in a folder of its own; return the violation or ""."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            if target:
                copy_inputs(target, inputs, Path(folder))
            attack.run(inputs, Path(folder), random.Random(seed), target)
        except Exception as error:
            return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("classes", nargs="*", choices=[[], *CLASSES], metavar="CLASS")
    parser.add_argument("--seconds", type=float, default=60.0, help="per class")
    parser.add_argument(
        "--rounds", type=int, default=0, help="minimum number over all commands of each class"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--command", action="append", choices=COMMANDS, metavar="COMMAND",
                        help="only these; repeatable")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print the classes and exit")
    arguments = parser.parse_args()
    if arguments.list:
        print(classes_table(), end="")
        return 0
    if missing := set(registered()) ^ set(COMMANDS):
        print(f"missing in tools/torture/commands.py, or unknown: {', '.join(sorted(missing))}")
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # A shell's background jobs ignore SIGINT; the commands under attack mustn't inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    violations = 0
    tried_commands: set[str] = set()
    print(HEAD)
    with tempfile.TemporaryDirectory() as made, contextlib.suppress(KeyboardInterrupt):
        inputs = make_inputs(Path(made))
        for name in arguments.classes or CLASSES:
            attack = CLASSES[name]
            end = time.monotonic() + arguments.seconds
            tried, faults, seen = 0, 0, set()
            selected = arguments.command or COMMANDS
            targets = [
                target for target in attack.targets or [""] if target in selected or not target
            ]
            if not targets:
                continue
            random.Random(arguments.seed).shuffle(targets)
            try:
                while time.monotonic() < end or tried < arguments.rounds * len(targets):
                    seed = f"{arguments.seed}-{name}-{tried}"
                    target = targets[tried % len(targets)]
                    fault = attempt(attack, target, inputs, seed)
                    if fault:
                        print(f"{seed} {target}: {fault}", file=sys.stderr, flush=True)
                    faults += bool(fault)
                    tried += 1
                    seen.add(target)
            finally:
                seen.discard("")
                tried_commands |= seen
                print(f"| {name} | {len(seen) or ''} | {tried} | {faults} |", flush=True)
                violations += faults
    print(f"\n{len(tried_commands)} of {len(COMMANDS)} commands were attacked.")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
