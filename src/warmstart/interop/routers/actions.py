"""Which name of a model is the action: the one that was asked for, or the one that answered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from warmstart.interop.routers.calls import stored_batches

ModelName = Literal["auto", "request", "response"]
# What follows a model's name in those of its versions, such as -2024-08-06, -001, @20240229 or -latest.
VERSION = re.compile(r"[-@:_.]?(v?\d[\w.\-:]*|latest|preview[\w.\-]*)?")


class Naming(NamedTuple):
    """How calls get their actions.

    ``aliases``: the names under which several models answered that are no versions of it, and how often each did;
    ``answered``: the names of which the action is the model that answered; ``renamed``: the calls of these.
    """

    aliases: dict[str, dict[str, int]]
    answered: frozenset[str]
    renamed: int

    @classmethod
    def of(cls, calls: Path, by: ModelName) -> Naming:
        """Return how to name the actions of calls that have both names."""
        answers: dict[str, Counter[str]] = {}
        for batch in stored_batches(calls, ("model", "response_model")):
            known = batch.filter(pc.is_valid(batch["response_model"]))
            for pair in known.group_by(known.column_names).aggregate([([], "count_all")]).to_pylist():
                answers.setdefault(pair["model"], Counter())[pair["response_model"]] += pair["count_all"]
        aliases = {
            name: dict(models.most_common())
            for name, models in sorted(answers.items())
            if len(models) > 1 and not all(is_version(model, name) for model in models)
        }
        answered = {"auto": frozenset(aliases), "response": frozenset(answers), "request": frozenset[str]()}[by]
        renamed = sum(n for name in answered for model, n in answers[name].items() if model != name)
        return cls(aliases, answered, renamed)

    def apply(self, calls: pa.Table) -> pa.Table:
        """Return calls with their actions; the requested model is the name that was asked for instead."""
        if not self.renamed:
            return calls
        model, answer = calls["model"], calls["response_model"]
        other = pc.and_(pc.fill_null(pc.not_equal(model, answer), False), self._among(model))
        place, asked = calls.schema.get_field_index, pc.if_else(other, model, calls["requested_model"])
        chosen = calls.set_column(place("model"), "model", pc.if_else(other, answer, model))
        return chosen.set_column(place("requested_model"), "requested_model", asked)

    def _among(self, model: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.is_in(model, value_set=pa.array(sorted(self.answered), pa.string()))


AS_IT_IS = Naming({}, frozenset(), 0)


def is_version(model: str, name: str) -> bool:
    """Tell whether a model is a version of a name.

    >>> is_version("gpt-4o-2024-08-06", "openai/gpt-4o"), is_version("gpt-4o-mini", "gpt-4o")
    (True, False)
    """
    model, name = plain_name(model), plain_name(name)
    return model.startswith(name) and VERSION.fullmatch(model, len(name)) is not None


def plain_name(model: str) -> str:
    """Return a model's name without its provider, in small letters.

    >>> plain_name("openai/GPT-4o")
    'gpt-4o'
    """
    return model.rsplit("/", 1)[-1].casefold()


def alike(models: Sequence[str]) -> list[list[str]]:
    """Return models whose names differ only by provider or case, those of one name together."""
    groups: dict[str, list[str]] = {}
    for model in models:
        groups.setdefault(plain_name(model), []).append(model)
    return [group for group in groups.values() if len(group) > 1]
