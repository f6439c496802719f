"""Docstrings and names as the reference needs them: examples as code, and functions, not modules (for Griffe)."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

DOCTEST = re.compile(r"^>>> .*?(?=\n[ \t]*\n|\Z)", re.DOTALL | re.MULTILINE)


class PublicNames(griffe.Extension):
    """Show doctests as examples, and let names of the front door stand for functions, not for modules of that name."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Give the doctests of a docstring the title that makes them code."""
        if obj.docstring is not None:
            obj.docstring.value = DOCTEST.sub(
                lambda found: f"Examples:\n{textwrap.indent(found[0], '    ')}", obj.docstring.value
            )

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Point ``warmstart.evaluate`` to the function ``warmstart.pipeline.evaluate.evaluate``, and so on."""
        for name, member in list(pkg.members.items()):
            if not isinstance(member, griffe.Alias):
                continue
            try:
                target = loader.modules_collection[member.target_path]
            except KeyError:
                continue
            if target.is_module and name in target.members:
                pkg.set_member(name, griffe.Alias(name, f"{member.target_path}.{name}", parent=pkg))
