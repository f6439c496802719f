"""Groups of similar texts or embeddings, so that contexts repeat: fitted once, saved, and used for new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.grouping.group_log import *  # noqa: F403
    from warmstart.grouping.grouping import *  # noqa: F403
    from warmstart.grouping.storage import *  # noqa: F403

_door = Door.to(__name__, {"group_log": "group", "grouping": "Grouping", "storage": "load_grouping"})
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
