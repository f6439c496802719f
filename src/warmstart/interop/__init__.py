"""Logs and policies of other tools: Vowpal Wabbit, Open Bandit Pipeline and coba, in and out.

Names are resolved when first used: reading a log needs no engine, so importing one loads none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warmstart.interop.coba import from_coba as from_coba
    from warmstart.interop.export_log import ExportFormat as ExportFormat
    from warmstart.interop.export_log import export as export
    from warmstart.interop.obp import from_obp as from_obp
    from warmstart.interop.obp import to_obp as to_obp
    from warmstart.interop.vw.import_log import VWFormat as VWFormat
    from warmstart.interop.vw.import_log import import_vw as import_vw
    from warmstart.interop.vw.predictions import Scores as Scores
    from warmstart.interop.vw.predictions import import_predictions as import_predictions

_HOMES = {
    "ExportFormat": "warmstart.interop.export_log",
    "Scores": "warmstart.interop.vw.predictions",
    "VWFormat": "warmstart.interop.vw.import_log",
    "export": "warmstart.interop.export_log",
    "from_coba": "warmstart.interop.coba",
    "from_obp": "warmstart.interop.obp",
    "import_predictions": "warmstart.interop.vw.predictions",
    "import_vw": "warmstart.interop.vw.import_log",
    "to_obp": "warmstart.interop.obp",
}

__all__ = [*_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'warmstart.interop' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
