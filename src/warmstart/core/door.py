"""Lazy doors: a room's public names, each resolved from its module when first used, so that importing stays quick."""

from __future__ import annotations

import sys
from importlib import import_module

# As if imported from typing: this is read before a command can take a signal, and typing takes as long as all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Door:
    """The names that a package offers, by the module, relative to it, that defines them."""

    def __init__(self, package: str, homes: Mapping[str, str]) -> None:
        self.package = package
        self.homes = homes

    @classmethod
    def to(cls, package: str, names: Mapping[str, str]) -> Door:
        """Read lists of names, divided by spaces, by module."""
        return cls(package, {name: module for module, listed in names.items() for name in listed.split()})

    def resolve(self, name: str) -> Any:
        """Import the module of a name and return what it stands for: a package's ``__getattr__``."""
        if name not in self.homes:
            raise AttributeError(f"module {self.package!r} has no attribute {name!r}")
        return getattr(import_module(f"{self.package}.{self.homes[name]}"), name)

    def over_modules(self) -> None:
        """Show the function ``fit``, not the module ``fit`` that Python puts there when it is imported."""
        homes = self.homes

        class _Room(type(sys)):  # type: ignore[misc]
            def __setattr__(self, name: str, value: Any) -> None:
                is_home = isinstance(value, type(sys)) and name in homes
                super().__setattr__(name, getattr(value, name) if is_home else value)

        sys.modules[self.package].__class__ = _Room
