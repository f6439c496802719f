"""Reward models of saved policies: each kind lists its fields and arrays, and is built from them once checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.scoring.arrays import ArraySpec, Reading, damaged, read_array
from warmstart.scoring.blend import BlendModel
from warmstart.scoring.fields import FILE, Check, listed, number, one_of, record, refuse, text, whole
from warmstart.scoring.models import Groups, LogisticModel, LowRankModel, MeanModel, ProductModel, RewardModel
from warmstart.scoring.rows import SparseRows
from warmstart.scoring.trees import MOST_LEAVES, WORDS_OF_A_SET, TreesModel

# Far above what learning makes, and far below what overflows in a sum of products.
LARGEST_WEIGHT, LARGEST_VALUE, LARGEST_FACTOR = 1e9, 1e3, 1e12
# A blend of several kinds; shares are written with all their digits.
BLEND, CLOSE_TO_ONE = "blend", 1e-6
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class ModelKind:
    """A kind of reward model: its ``fields`` in policy.json, its arrays by name, and how it is built and taken apart.

    ``sizes``: what the fields and the settings of features say about the lengths of its arrays.
    """

    fields: Mapping[str, Check]
    arrays: Mapping[str, ArraySpec]
    sizes: Callable[[Mapping[str, Any], tuple[int, int]], dict[str, int]]
    build: Callable[[Mapping[str, Any], Arrays], RewardModel]
    saved: Callable[[Any], tuple[dict[str, Any], dict[str, NDArray[Any]]]]


def _product_sizes(fields: Mapping[str, Any], bits: tuple[int, int]) -> dict[str, int]:
    if fields["width"] != 1 << bits[1]:
        raise damaged(FILE, f"model.width must be {1 << bits[1]:,}, 2^action_features.bits")
    return {"width": 1 << bits[1], "weights": 1 << sum(bits)}


def _product_saved(model: ProductModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    fields = {name: getattr(model, name) for name in ("width", "loss", "rate", "training_loss")}
    return fields, {"weights": model.weights}


PRODUCT = ModelKind(
    fields={
        "width": whole(2, 1 << 30),
        "loss": one_of("squared", "logistic"),
        "rate": number(0),
        "training_loss": number(0),
    },
    arrays={"weights": ArraySpec("weights.npy", "float32", ("weights",), -LARGEST_WEIGHT, LARGEST_WEIGHT)},
    sizes=_product_sizes,
    build=lambda fields, arrays: ProductModel(arrays["weights"], **fields),
    saved=_product_saved,
)


def _group_arrays(side: str) -> dict[str, ArraySpec]:
    rows, vectors, centers = f"{side} buckets", f"{side} vectors", f"{side} groups"
    projection = ArraySpec(f"{side}_projection.npy", "float32", (rows, vectors), -LARGEST_VALUE, LARGEST_VALUE)
    return {
        f"{side}_projection": projection,
        f"{side}_centers": ArraySpec(f"{side}_centers.npy", "float32", (centers, vectors), -2.0, 2.0),
    }


def _low_rank_saved(model: LowRankModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    sides = {"context": model.contexts, "action": model.actions}
    arrays = {f"{side}_{name}": getattr(sides[side], name) for side in sides for name in ("projection", "centers")}
    return {"mean": model.mean}, {**arrays, "group_factors": model.factors}


def _low_rank(fields: Mapping[str, Any], arrays: Arrays) -> LowRankModel:
    contexts = Groups(arrays["context_projection"], arrays["context_centers"])
    actions = Groups(arrays["action_projection"], arrays["action_centers"])
    return LowRankModel(contexts, actions, arrays["group_factors"], fields["mean"])


GROUP_FACTORS = ("context groups", "action groups")
LOW_RANK = ModelKind(
    fields={"mean": number(0, 1)},
    arrays={
        **_group_arrays("context"),
        **_group_arrays("action"),
        "group_factors": ArraySpec("group_factors.npy", "float64", GROUP_FACTORS, most=LARGEST_FACTOR, positive=True),
    },
    sizes=lambda _, bits: {"context buckets": 1 << bits[0], "action buckets": 1 << bits[1]},
    build=_low_rank,
    saved=_low_rank_saved,
)


def _logistic(_: Mapping[str, Any], arrays: Arrays) -> LogisticModel:
    buckets = arrays["buckets_in_use"]
    if bool((buckets[1:] <= buckets[:-1]).any()):
        raise damaged("buckets_in_use.npy", "buckets must rise")
    return LogisticModel(buckets, arrays["coefficients"], arrays["intercepts"])


LOGISTIC = ModelKind(
    fields={},
    arrays={
        "buckets_in_use": ArraySpec("buckets_in_use.npy", "uint32", ("columns",), below="context buckets"),
        "coefficients": ArraySpec("coefficients.npy", "float32", ("actions", "columns"), -LARGEST_VALUE, LARGEST_VALUE),
        "intercepts": ArraySpec("intercepts.npy", "float32", ("actions",), -LARGEST_VALUE, LARGEST_VALUE),
    },
    sizes=lambda _, bits: {"context buckets": 1 << bits[0]},
    build=_logistic,
    saved=lambda model: (
        {},
        {"buckets_in_use": model.buckets, "coefficients": model.coefficients, "intercepts": model.intercepts},
    ),
)
CELLS = ModelKind(
    fields={"mean": number(0, 1)},
    arrays={},
    sizes=lambda *_: {},
    build=lambda fields, _: MeanModel(fields["mean"]),
    saved=lambda model: ({"mean": model.mean}, {}),
)


def _trees(fields: Mapping[str, Any], arrays: Arrays) -> TreesModel:
    sides = [arrays[f"{side}_columns"] for side in ("context", "action")]
    for side, columns in zip(("context", "action"), sides, strict=True):
        if bool((columns[1:] <= columns[:-1]).any()):
            raise damaged(f"{side}_columns.npy", "buckets must rise")
    if (arrays["split_columns"] > sum(map(len, sides))).any():
        raise damaged("split_columns.npy", f"values must be below {sum(map(len, sides)) + 1:,}, the number of columns")
    # Of the masks of a tree some leaf must be left, wherever a row goes.
    if len(arrays["tree_starts"]) != len(arrays["leaves"]) + 1:
        raise damaged("leaves.npy", f"has {len(arrays['leaves']):,} trees, and tree_starts.npy another number")
    bounds = pairwise(arrays["tree_starts"].tolist())
    if not all(np.bitwise_and.reduce(arrays["masks"][begin:end]) for begin, end in bounds):
        raise damaged("masks.npy", "the masks of a tree must leave one of its leaves to all rows")
    return TreesModel(
        sides[0],
        sides[1],
        arrays["tree_starts"],
        arrays["split_columns"],
        arrays["thresholds"],
        arrays["masks"],
        arrays["sets"],
        arrays["leaves"],
        fields["baseline"],
    )


def _trees_saved(model: TreesModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays: dict[str, NDArray[Any]] = {"tree_starts": model.starts, "split_columns": model.columns}
    arrays |= {name: getattr(model, name) for name in ("context_columns", "action_columns")}
    arrays |= {name: getattr(model, name) for name in ("thresholds", "masks", "sets", "leaves")}
    return {"baseline": model.baseline}, arrays


TREES = ModelKind(
    fields={"baseline": number(-LARGEST_VALUE, LARGEST_VALUE)},
    arrays={
        "context_columns": ArraySpec("context_columns.npy", "uint32", ("context columns",), below="context buckets"),
        "action_columns": ArraySpec("action_columns.npy", "uint32", ("action columns",), below="action buckets"),
        "split_columns": ArraySpec("split_columns.npy", "uint32", ("splits",)),
        "thresholds": ArraySpec("thresholds.npy", "float64", ("splits",), -LARGEST_WEIGHT, LARGEST_WEIGHT),
        "masks": ArraySpec("masks.npy", "uint32", ("splits",)),
        "sets": ArraySpec("sets.npy", "uint32", ("splits", "words")),
        "tree_starts": ArraySpec("tree_starts.npy", "int64", ("trees + 1",), offsets_to="splits"),
        "leaves": ArraySpec("leaves.npy", "float64", ("trees", "leaves"), -LARGEST_VALUE, LARGEST_VALUE),
    },
    sizes=lambda _, bits: {
        "context buckets": 1 << bits[0],
        "action buckets": 1 << bits[1],
        "leaves": MOST_LEAVES,
        "words": WORDS_OF_A_SET,
    },
    build=_trees,
    saved=_trees_saved,
)
# A further kind of model is a line in each of these.
KINDS: dict[str, ModelKind] = {
    "product": PRODUCT,
    "low-rank": LOW_RANK,
    "logistic": LOGISTIC,
    "trees": TREES,
    "cells": CELLS,
}
MODEL_CLASSES: dict[type, str] = {
    ProductModel: "product",
    LowRankModel: "low-rank",
    LogisticModel: "logistic",
    TreesModel: "trees",
    MeanModel: "cells",
}

# What every policy with a model has of its actions: their features, and their factors.
ACTION_ARRAYS = {
    "buckets": ArraySpec("action_buckets.npy", "uint32", ("action_buckets",), below="action buckets"),
    "starts": ArraySpec("action_starts.npy", "int64", ("actions + 1",), offsets_to="action_buckets"),
    "values": ArraySpec("action_values.npy", "float32", ("action_buckets",), -LARGEST_VALUE, LARGEST_VALUE),
    "squares": ArraySpec("action_squares.npy", "float32", ("actions",), 0.0),
    "factors": ArraySpec("factors.npy", "float64", ("actions",), most=LARGEST_FACTOR, positive=True),
}


def kind_of(model: Any) -> str:
    """Return the name of a model's kind."""
    return next(name for kind, name in MODEL_CLASSES.items() if isinstance(model, kind))


def saved_model(model: RewardModel) -> tuple[dict[str, Any], dict[str, tuple[ArraySpec, NDArray[Any]]]]:
    """Return what policy.json says of a model, and its arrays by file."""
    if isinstance(model, BlendModel):
        each = [saved_model(part) for part in model.parts]
        parts = [{**about, "share": share} for (about, _), share in zip(each, model.shares, strict=True)]
        return {"kind": BLEND, "parts": parts}, {file: one for _, arrays in each for file, one in arrays.items()}
    kind = KINDS[kind_of(model)]
    fields, arrays = kind.saved(model)
    by_file = {kind.arrays[name].file: (kind.arrays[name], array) for name, array in arrays.items()}
    return {"kind": kind_of(model), **fields}, by_file


def check_model(value: Any, where: str) -> None:
    """Check what policy.json says of a model: its kind, its fields and, of a blend, the parts, each of another kind."""
    if type(value) is not dict:
        refuse(where, "an object or null", value)
    if value.get("kind") != BLEND:
        _check_kind(value, where, {})
        return
    record({"kind": text, "parts": listed(lambda part, at: _check_kind(part, at, {"share": number(0, 1)}), 2)})(
        value, where
    )
    kinds = [part["kind"] for part in value["parts"]]
    if len(set(kinds)) < len(kinds):
        raise damaged(FILE, f"{where}.parts must be of different kinds")
    if abs(sum(part["share"] for part in value["parts"]) - 1) > CLOSE_TO_ONE:
        raise damaged(FILE, f"{where}.parts must have shares that add up to 1")


def _check_kind(value: Any, where: str, more: Mapping[str, Check]) -> None:
    if type(value) is not dict:
        refuse(where, "an object", value)
    one_of(*KINDS)(value.get("kind"), f"{where}.kind")
    record({"kind": text, **KINDS[value["kind"]].fields, **more})(value, where)


def array_files(about: Mapping[str, Any] | None) -> set[str]:
    """Return the names of the array files of a policy with this model; none without a model."""
    if about is None:
        return set()
    kinds = [part["kind"] for part in about["parts"]] if about["kind"] == BLEND else [about["kind"]]
    specs = (*ACTION_ARRAYS.values(), *(spec for kind in kinds for spec in KINDS[kind].arrays.values()))
    return {spec.file for spec in specs}


def load_model(
    folder: Path, about: Mapping[str, Any], bits: tuple[int, int], actions: int, *, reading: Reading = "mapped"
) -> RewardModel:
    """Return the reward model, its fields and arrays checked.

    Args:
        folder: of the saved policy.
        about: what policy.json says of the model.
        bits: of the features of contexts and of actions.
        actions: how many are known.
        reading: how arrays are read.
    """
    if about["kind"] == BLEND:
        parts = [load_model(folder, part, bits, actions, reading=reading) for part in about["parts"]]
        return BlendModel(tuple(parts), tuple(float(part["share"]) for part in about["parts"]))
    kind = KINDS[about["kind"]]
    fields = {name: about[name] for name in kind.fields}
    sizes = {"actions": actions, **kind.sizes(fields, bits)}
    arrays = {name: read_array(folder, spec, sizes, reading=reading) for name, spec in kind.arrays.items()}
    return kind.build(fields, arrays)


def load_actions(
    folder: Path, actions: int, bits: int, *, reading: Reading = "mapped"
) -> tuple[SparseRows, NDArray[np.float64]]:
    """Return the features and the factors of the known actions, checked.

    Args:
        folder: of the saved policy.
        actions: how many are known.
        bits: of their features.
        reading: how arrays are read.
    """
    sizes = {"actions": actions, "actions + 1": actions + 1, "action buckets": 1 << bits}
    arrays = {name: read_array(folder, spec, sizes, reading=reading) for name, spec in ACTION_ARRAYS.items()}
    factors = arrays["factors"]
    rows = SparseRows(arrays["starts"], arrays["buckets"], arrays["values"], arrays["squares"])
    owner = np.repeat(np.arange(actions), np.diff(rows.starts))
    squares = np.bincount(owner, weights=rows.values.astype(np.float64) ** 2, minlength=actions)
    if not np.allclose(rows.squares, squares, rtol=1e-4, atol=1e-6):
        raise damaged("action_squares.npy", "values must be the sums of the squares of action_values.npy")
    return rows, factors
