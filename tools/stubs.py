"""Write the type stubs of the compiled core, or with --check report outdated ones."""

import argparse
import re
import sys
from pathlib import Path
from types import ModuleType

from nanobind.stubgen import StubGen

import komadori._core as core

#: Two overloads that differ in the type of their only parameter.
OVERLOADS = re.compile(
    r'( +)@overload\n\1def (\w+)\(self, (\w+): (\w+)\) -> (\w+):\n\1    """(.*)"""\n\n'
    r'\1@overload\n\1def \2\(self, \3: (\w+)\) -> \5:\n\1    """(.*)"""\n'
)
MERGED = r'\1def \2(self, \3: \4 | \7) -> \5:\n\1    """\6\n\n\1    \8\n\1    """\n'

FOLDER = Path(__file__).resolve().parent.parent / "src" / "komadori" / "_core"


def stubs() -> dict[Path, str]:
    """Return the stub of each submodule of the core, by path."""
    texts = {}
    for name, member in vars(core).items():
        if (
            name[0] != "_"
            and isinstance(member, ModuleType)
            and member.__name__ == f"komadori._core.{name}"
        ):
            generator = StubGen(member)
            generator.put(member)
            # mkdocstrings skips methods that consist of overloads only.
            texts[FOLDER / f"{name}.pyi"] = OVERLOADS.sub(MERGED, generator.get())
    return texts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = False
    for path, text in stubs().items():
        if check:
            if not path.exists() or path.read_text() != text:
                print(f"{path.name} is outdated: run `make stubs`", file=sys.stderr)
                stale = True
        else:
            path.write_text(text)
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
