"""Save a learned policy: arrays without pickle, settings as JSON, the ranking as Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from warmstart.core import (
    Columns,
    SavedFileError,
    UsageError,
    __version__,
    check_output,
    printable,
    write_output,
)
from warmstart.features import FeatureRows, plain_column
from warmstart.policy.ranking_store import RANK, SCORE
from warmstart.policy.saved_actions import arrays_of, arrow_of_actions, key_type, saved_keys
from warmstart.policy.saved_deferring import ranked_arrays, ranked_in
from warmstart.results import plain
from warmstart.reward import ProductModel
from warmstart.scoring import (
    ACTION_ARRAYS,
    DECISIONS,
    FILE,
    FORMAT,
    BlendModel,
    RewardModel,
    load_actions,
    load_keys,
    load_model,
    own_sha256,
    read_about,
    saved_model,
    settings_of,
    sha256,
)
from warmstart.scoring import ProductModel as SavedProduct

if TYPE_CHECKING:
    from warmstart.policy.fitted import FittedPolicy


def save_policy(policy: FittedPolicy, folder: str | Path) -> Path:
    """Write a policy into a new folder, whole or not at all.

    Of a policy learned with a scikit-learn regressor only the decisions are saved, since the regressor is not kept.
    What could not be loaded again is refused: keys of a type that is none of keys, numbers that are not finite or too
    large.
    """
    import pyarrow.parquet as pq

    out = Path(folder)
    check_output(out, folder=True)
    with write_output(out, folder=True) as part:
        model = None if policy.model is None else _save_model(policy, part)
        with _refusing_to_save():
            keys = arrays_of(saved_keys(policy.actions))
        for file, array in keys.items():
            np.save(part / file, array, allow_pickle=False)
        # Batch by batch, so that the ranking need not fit into memory.
        writer = None
        for batch in _ranking(policy):
            writer = writer or pq.ParquetWriter(part / DECISIONS, batch.schema)
            writer.write_table(batch)
        if writer is None:
            raise UsageError("The policy has no ranking to save.")
        writer.close()
        deferring = {"defers": True, "context_types": _save_ranked(policy, part)} if policy.defers else {}
        about = {
            "format": FORMAT,
            "warmstart_version": __version__,
            "columns": asdict(policy.columns),
            # Only logs whose times are steps say so.
            "window": {name: value for name, value in asdict(policy.window).items() if name != "steps" or value},
            "folds": None if policy.folds is None else asdict(policy.folds),
            "model": model,
            "action_type": key_type(policy.actions),
            "context_features": asdict(policy.context_settings),
            "action_features": asdict(policy.action_settings),
            "lowest": policy.lowest,
            **deferring,
            "report": plain(policy.report),
            "files": {file.name: sha256(file) for file in sorted(part.iterdir())},
        }
        about["files"][FILE] = own_sha256(about)
        (part / FILE).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        with _refusing_to_save():
            load_parts(part, read_about(part, printable(out)))
    return out


def load_parts(path: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return, checked, the parts of a policy that do not grow with its ranking."""
    from warmstart.policy.saved_ranking import type_of_actions

    columns = _columns_of(about["columns"])
    keys = load_keys(path, about["action_type"])
    actions = arrow_of_actions(keys, type_of_actions(path, columns, about["action_type"]))
    settings = tuple(settings_of(about[name]) for name in ("context_features", "action_features"))
    if about["model"] is None:
        nothing = np.zeros(0, np.int64)
        model, rows = None, FeatureRows.of(nothing, nothing, np.zeros(0), len(actions))
        factors = np.ones(len(actions))
    else:
        model = load_model(path, about["model"], (settings[0].bits, settings[1].bits), len(actions))
        model = _compiled(model)
        loaded, factors = load_actions(path, len(actions), settings[1].bits)
        rows = FeatureRows.counted(loaded, names=0)
    return {
        "columns": columns,
        "model": model,
        "context_settings": settings[0],
        "action_settings": settings[1],
        "actions": actions,
        "action_rows": rows,
        "factors": factors,
    }


def _compiled(model: RewardModel) -> RewardModel:
    """Return a model whose products are predicted by compiled loops."""
    if isinstance(model, BlendModel):
        return replace(model, parts=tuple(_compiled(part) for part in model.parts))
    return ProductModel.of(model) if isinstance(model, SavedProduct) else model


def _columns_of(saved: Mapping[str, Any]) -> Columns:
    return Columns(**{**saved, **{name: tuple(saved[name]) for name in ("context", "unit", "also")}})


@contextmanager
def _refusing_to_save() -> Iterator[None]:
    """Say of what could not be loaded again that it cannot be saved."""
    try:
        yield
    except SavedFileError as error:
        hint = "Fit again: with keys that are numbers, text, dates or truths, and with a smaller learning rate."
        raise UsageError(f"The policy cannot be saved, since it could not be loaded: {error.message}", hint) from error


def _save_model(policy: FittedPolicy, part: Path) -> dict[str, Any]:
    """Write the arrays of the model and of the actions; return what policy.json says of the model."""
    assert policy.model is not None
    about, files = saved_model(policy.model)
    fields = [value for part in (about, *about.get("parts", ())) for value in part.values()]
    if not all(isfinite(value) for value in fields if isinstance(value, float)):
        raise UsageError("The model's loss is not finite: learning diverged.", "Fit with a smaller learning rate.")
    rows = policy.action_rows
    of_actions = {name: getattr(rows, name) for name in ("starts", "buckets", "values", "squares")}
    of_actions |= {"factors": policy.factors}
    for spec, values in (*files.values(), *((ACTION_ARRAYS[name], array) for name, array in of_actions.items())):
        with np.errstate(over="ignore"):  # What overflows is infinite, and refused with its file's name.
            np.save(part / spec.file, np.ascontiguousarray(values, dtype=spec.dtype), allow_pickle=False)
    return about


def _save_ranked(policy: FittedPolicy, part: Path) -> list[str]:
    """Write the ranking of a policy that defers as arrays, which services read; return the types of its contexts."""
    with _refusing_to_save():
        ranked = ranked_in(part, policy.columns, plain_column(policy.actions))
    for file, array in ranked_arrays(ranked).items():
        np.save(part / file, array, allow_pickle=False)
    return [keys.kind for keys in ranked.contexts]


def _ranking(policy: FittedPolicy) -> Iterator[pa.Table]:
    """Yield the ranking in batches, with the types that loading expects, checked row by row."""
    from warmstart.policy.saved_ranking import check_rows

    action = plain_column(policy.actions).type
    kinds = {policy.columns.action: action, RANK: pa.int32(), SCORE: pa.float64()}
    for batch in policy.ranked.batches():
        columns = {name: plain_column(batch[name]) for name in batch.column_names}
        rows = pa.table({name: column.cast(kinds.get(name, column.type)) for name, column in columns.items()})
        with _refusing_to_save():
            check_rows(rows, policy.columns, action)
        yield rows
