"""Document functions whose module has the same name: the function that users import (an extension of Griffe)."""

from __future__ import annotations

from typing import Any

import griffe


class PublicNames(griffe.Extension):
    """Let names of the front door stand for functions where a module has the same name."""

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
