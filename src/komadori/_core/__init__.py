"""The compiled core: the build variant that suits this CPU.

Submodules (`rules`, `encoding`, ...) are those of the chosen extension module.
`KOMADORI_CORE` in the environment forces a variant (`x86_64_v2`, `x86_64_v3`,
`plain`, `native`).
"""

import importlib
import os
import sys
from types import ModuleType

__all__ = ["VARIANT", "CoreError"]


class CoreError(ImportError):
    """No build of the core can be loaded. The message names the variant."""


def _load() -> tuple[str, ModuleType]:
    forced = os.environ.get("KOMADORI_CORE")
    if forced:
        try:
            return forced, importlib.import_module(f"{__name__}._{forced}")
        except ModuleNotFoundError:
            raise CoreError(f"KOMADORI_CORE={forced}: no such build of the core") from None
    best = importlib.import_module(f"{__name__}._cpu_probe").level()
    for name in ("native", best):
        try:
            return name, importlib.import_module(f"{__name__}._{name}")
        except ModuleNotFoundError:
            continue
    raise CoreError(f"komadori was built without a core for {best}; reinstall the package")


VARIANT, _module = _load()

for _name, _member in vars(_module).items():
    if isinstance(_member, ModuleType):
        sys.modules[f"{__name__}.{_name}"] = _member
        globals()[_name] = _member
