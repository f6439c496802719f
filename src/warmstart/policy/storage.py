"""Save and load a learned policy: arrays without pickle, settings as JSON, the ranking as Parquet."""

from __future__ import annotations

import json
import mmap
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from warmstart.core import (
    Columns,
    LaterVersionError,
    SavedFileError,
    SourceError,
    UsageError,
    Window,
    __version__,
    check_output,
    printable,
    write_output,
)
from warmstart.events import Folds
from warmstart.features import FeatureRows, FeatureSettings
from warmstart.policy.fitted import FittedPolicy
from warmstart.policy.ranking_store import RankingFile
from warmstart.reward import ProductModel

FORMAT = 1
ABOUT, DECISIONS = "policy.json", "decisions.parquet"
_ROWS = ("starts", "buckets", "values", "squares")


def is_saved_policy(source: Any) -> bool:
    """Tell whether a path is a folder that ``save_policy`` wrote."""
    return isinstance(source, str | Path) and (Path(source) / ABOUT).is_file()


def save_policy(policy: FittedPolicy, folder: str | Path) -> Path:
    """Write a policy into a new folder, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = Path(folder)
    check_output(out, folder=True)
    if policy.model is None:
        raise UsageError(
            "A policy learned with a model of your own cannot be saved.", "Write policy.decisions instead."
        )
    with write_output(out, folder=True) as part:
        arrays = {f"action_{name}": getattr(policy.action_rows, name) for name in _ROWS}
        for name, array in {"weights": policy.model.weights, "factors": policy.factors, **arrays}.items():
            np.save(part / f"{name}.npy", array, allow_pickle=False)
        pq.write_table(pa.table({"action": policy.actions}), part / "actions.parquet")
        # Batch by batch, so that the ranking need not fit into memory.
        batches = iter(policy.ranked.batches())
        first = next(batches)
        with pq.ParquetWriter(part / DECISIONS, first.schema) as writer:
            for batch in chain([first], batches):
                writer.write_table(batch)
        about = {
            "format": FORMAT,
            "warmstart_version": __version__,
            "columns": asdict(policy.columns),
            "window": asdict(policy.window),
            "folds": None if policy.folds is None else asdict(policy.folds),
            "model": {name: getattr(policy.model, name) for name in ("width", "loss", "rate", "training_loss")},
            "context_features": asdict(policy.context_settings),
            "action_features": asdict(policy.action_settings),
            "lowest": policy.lowest,
            "report": dict(policy.report),
        }
        (part / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    return out


def load_policy(folder: str | Path) -> FittedPolicy:
    """Load a policy that was saved. A damaged one, or one from a later version, is refused; no code in it is run."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(folder)
    where = printable(folder)
    if not (path / ABOUT).is_file():
        raise SourceError(f"{where} is no saved policy: it has no {ABOUT}.")
    try:
        about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
        if about["format"] > FORMAT:
            later = f"{where} was written by a later version of warmstart ({about['warmstart_version']})."
            raise LaterVersionError(later, "Load it with that version.")
        decided = pq.read_schema(path / DECISIONS).names
        folds = about.get("folds")
        policy = FittedPolicy(
            columns=_columns(about["columns"]),
            window=Window(**about["window"]),
            folds=None if folds is None else Folds(**{**folds, "keys": tuple(folds["keys"])}),
            ranked=RankingFile(path.resolve() / DECISIONS),
            model=ProductModel(_load(path / "weights.npy"), **about["model"]),
            context_settings=_settings(about["context_features"]),
            action_settings=_settings(about["action_features"]),
            actions=pq.ParquetFile(path / "actions.parquet").read()["action"].combine_chunks(),
            action_rows=FeatureRows(*(_load(path / f"action_{name}.npy") for name in _ROWS)),
            factors=_load(path / "factors.npy"),
            lowest=float(about["lowest"]),
            report=about["report"],
        )
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise SavedFileError(f"{where} is damaged: {printable(error)}", "Fit again.") from error
    _check(policy, where, decided)
    return policy


def _check(policy: FittedPolicy, where: str, decided: list[str]) -> None:
    size, model, rows = len(policy.actions), policy.model, policy.action_rows
    columns = [*policy.columns.context, policy.columns.action, "rank", "score"]
    fits = (
        model is not None
        and len(model.weights) == 1 << (policy.context_settings.bits + policy.action_settings.bits)
        and model.width == 1 << policy.action_settings.bits
        and len(rows) == len(policy.factors) == size
        and len(rows.buckets) == len(rows.values) == rows.starts[-1]
        and _largest(rows.buckets) < model.width
        and decided == columns
    )
    if not fits:
        raise SavedFileError(f"{where} is damaged: its parts do not fit together.", "Fit again.")


def _columns(saved: dict[str, Any]) -> Columns:
    return Columns(**{**saved, "context": tuple(saved["context"]), "unit": tuple(saved.get("unit", ()))})


def _settings(saved: dict[str, Any]) -> FeatureSettings:
    scales = {name: (float(pair[0]), float(pair[1])) for name, pair in saved["scales"].items()}
    return FeatureSettings(**{**saved, "scales": scales, "left_out": tuple(saved["left_out"])})


def _load(path: Path) -> Any:
    """Memory-map an array: to use the ranking alone, the model need not be in memory."""
    return np.load(path, allow_pickle=False, mmap_mode="c")


def _largest(array: Any) -> int:
    """Return the largest number of a memory-mapped array, and free the pages that were read for it."""
    largest = int(array.max(initial=0))
    if isinstance(array, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
        array._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
    return largest
