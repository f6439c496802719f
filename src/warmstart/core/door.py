"""Lazy doors: a room's public names, each resolved from its module when first used, so that importing stays quick."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Door:
    """The names that a package offers, by the module, relative to it, that defines them."""

    package: str
    homes: Mapping[str, str]

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

        class _Room(ModuleType):
            def __setattr__(self, name: str, value: Any) -> None:
                is_home = isinstance(value, ModuleType) and name in homes
                super().__setattr__(name, getattr(value, name) if is_home else value)

        sys.modules[self.package].__class__ = _Room
