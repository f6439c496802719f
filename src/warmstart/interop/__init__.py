"""Logs and policies of other tools: Vowpal Wabbit, Open Bandit Pipeline and coba in and out; routers of LLMs in.

Names are resolved when first used: reading a log needs no engine, so importing one loads none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.interop.coba import *  # noqa: F403
    from warmstart.interop.export_log import *  # noqa: F403
    from warmstart.interop.obp import *  # noqa: F403
    from warmstart.interop.routers.actions import *  # noqa: F403
    from warmstart.interop.routers.import_calls import *  # noqa: F403
    from warmstart.interop.routers.prompts import *  # noqa: F403
    from warmstart.interop.vw.import_log import *  # noqa: F403
    from warmstart.interop.vw.predictions import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "coba": "from_coba",
        "export_log": "ExportFormat export",
        "obp": "from_obp to_obp",
        "routers.actions": "ModelName",
        "routers.import_calls": "CallFormat Prompts import_calls",
        "routers.prompts": "prompt_text",
        "vw.import_log": "VWFormat import_vw",
        "vw.predictions": "Scores import_predictions",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
