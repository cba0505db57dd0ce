"""The network families by name.

A family is one file: a frozen config dataclass, a network class, and short names such as
`resnet10x192` with the main numbers. The file registers itself; this package's `__init__` imports
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from traceback import walk_tb
from typing import Any

import torch

from komadori.nets.network import DLSHOGI, Interface, Network
from komadori.wording import names_arguments

#: A family's frozen config dataclass; its type identifies the family.
NetConfig = Any

#: The greatest number of blocks, channels and the like, and of parameters: a mistyped number would
#: fill the memory.
LARGEST, LARGEST_PARAMETERS = 1 << 14, 1 << 30
_SURELY_SMALL = 1 << 10


class UnknownNetError(ValueError):
    """No network has this name; the text says why."""


@dataclass(frozen=True)
class Family:
    """parse: short name to config; None for another family's name."""

    name: str
    config: type[NetConfig]
    build: Callable[[Any, Interface], Network]
    parse: Callable[[str], NetConfig | None]
    short_name: Callable[[Any], str]


FAMILIES: dict[str, Family] = {}


@names_arguments
def register(family: Family) -> Family:
    """Register a family. Raises ValueError for a duplicate name."""
    if family.name in FAMILIES:
        raise ValueError(f"network family {family.name!r} is registered twice")
    FAMILIES[family.name] = family
    return family


def family_of(config: NetConfig) -> Family:
    """The family of a config. Raises UnknownNetError."""
    for family in FAMILIES.values():
        if type(config) is family.config:
            return family
    raise UnknownNetError(f"{type(config).__name__} is no registered network's config")


@names_arguments
def parse(name: str) -> NetConfig:
    """The config that a short name such as `resnet5x64` stands for. Raises UnknownNetError."""
    for family in FAMILIES.values():
        try:
            config = family.parse(name)
        except ValueError as error:  # a name of the family with numbers that it doesn't take
            raise UnknownNetError(f"network {name!r}: {error}") from error
        if config is not None:
            return config
    known = ", ".join(sorted(FAMILIES))
    raise UnknownNetError(f"unknown network {name!r}; families: {known} (such as resnet5x64)")


def short_name(config: NetConfig) -> str:
    """The config's short name, with its main numbers, such as `resnet5x64`."""
    return family_of(config).short_name(config)


def build(net: str | NetConfig, interface: Interface = DLSHOGI) -> Network:
    """A network with initial weights from torch's global random state.

    Raises UnknownNetError, ValueError for numbers that the family doesn't take or a family that
    builds no Network.
    """
    config = parse(net) if isinstance(net, str) else net
    family = family_of(config)
    sizes = {field.name: getattr(config, field.name) for field in fields(config)}
    sizes = {name: value for name, value in sizes.items() if isinstance(value, int)}
    for name, value in sizes.items():
        if value > LARGEST:
            raise ValueError(f"{name} is {value}, {LARGEST} at most")
    if max(sizes.values(), default=0) > _SURELY_SMALL:
        with torch.device("meta"):  # allocates nothing
            parameters = sum(p.numel() for p in family.build(config, interface).parameters())
        if parameters > LARGEST_PARAMETERS:
            raise ValueError(
                f"{family.short_name(config)} has {parameters:,} parameters, "
                f"{LARGEST_PARAMETERS:,} at most"
            )
    network = family.build(config, interface)
    if not isinstance(network, Network):
        raise ValueError(f"built {type(network).__name__}, which is no komadori.nets.Network")
    if type(network).outputs is Network.outputs:
        raise ValueError(f"{type(network).__name__} defines no method `outputs`")
    if not hasattr(network, "interface"):
        network.interface = interface
    return network


def fault_of(error: BaseException) -> str | None:
    """The file and line of a family outside this package that raised `error` or passed it on, None
    if no such family did.
    """
    here = __name__.partition(".")[0]
    modules = {family.config.__module__ for family in FAMILIES.values()}
    is_called, found = False, None
    for frame, line in walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] == here:
            is_called = True
        elif is_called and module in modules:  # not the program that runs the command
            found = f"{frame.f_code.co_filename}, line {line}"
    return found
