"""Load a policy that was saved; ``policy.storage`` says what its folder holds.

Every file and every field is checked: checksums find damage, and the checks hold for what somebody changed on purpose.
Files in the folder that policy.json does not name are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warmstart.core import SourceError, Window, printable
from warmstart.events import Folds
from warmstart.policy.fitted import FittedPolicy
from warmstart.policy.ranking_store import RankingFile
from warmstart.policy.saved_deferring import check_ranked
from warmstart.policy.saved_ranking import check_ranking
from warmstart.policy.storage import load_parts
from warmstart.scoring import DECISIONS, FILE, is_saved_policy, read_about, read_files


def load_policy(folder: str | Path) -> FittedPolicy:
    """Load a policy that was saved: every file and field is checked, and no code is run.

    A damaged or changed one, or one of another version, is an error that names the file and the field.

    >>> import pyarrow as pa, tempfile, warmstart as ws
    >>> log = pa.table({"page": ["p", "q"] * 200, "ad": ["a", "a", "b", "b"] * 100, "click": [1, 0, 0, 1] * 100})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> pages = pa.table({"page": ["p", "q"], "about": ["news", "sport"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = ws.fit(events, contexts=pages, weight_bits=12).save(folder + "/policy")
    ...     ws.load_policy(folder + "/policy").choose({"about": "sport"})[0]
    'b'
    """
    path, where = Path(folder), printable(folder)
    if not is_saved_policy(path):
        raise SourceError(f"{where} is no saved policy: it has no {FILE}.")
    about = read_about(path, where)
    read_files(path, about)
    return _load_checked(path, about)


def _load_checked(path: Path, about: Mapping[str, Any]) -> FittedPolicy:
    parts = load_parts(path, about)
    # Before it is checked: what replaces it later is another one.
    ranked = RankingFile.at(path.resolve() / DECISIONS)
    check_ranking(path, parts["columns"], parts["actions"], may_be_empty=about.get("defers", False))
    if about.get("defers"):
        check_ranked(path, about, parts["columns"], parts["actions"])
    return FittedPolicy(
        **parts,
        window=Window(**about["window"]),
        folds=_folds_of(about["folds"]),
        ranked=ranked,
        lowest=float(about["lowest"]),
        defers=about.get("defers", False),
        report=about["report"],
        loaded=True,
    )


def _folds_of(saved: Mapping[str, Any] | None) -> Folds | None:
    return None if saved is None else Folds(**{**saved, "keys": tuple(saved["keys"])})
