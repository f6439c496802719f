"""Results: frozen dataclasses that show well in a terminal and a notebook, and go to JSON.

Names are resolved when first used: building all dataclasses takes a tenth of a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warmstart.results.interop import Decisions as Decisions
    from warmstart.results.interop import Exported as Exported
    from warmstart.results.interop import Imported as Imported
    from warmstart.results.interop import ImportedTables as ImportedTables

_NAMES = {
    "interop": "Decisions Exported Imported ImportedTables",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = [*_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
