"""Other learners to stand beside, given the same events.

Of numbers, in contexts that need not repeat (``x``, shown actions ``a``, rewards ``r``; choices for the rows ``new``):
Vowpal Wabbit's contextual bandits, and one logistic regression or one boosted ensemble an action. Of contexts that
repeat, as scores of the log's cells: shrunk cell means, Vowpal Wabbit's crossed features, one logistic regression.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

VW_TYPES = ("ips", "dr", "mtr")
VW_PASSES = 5
FOLDS = 3
# Events of the rate of all actions that are added to an action of which only one class was seen.
PRIOR = 10
PENALTIES = (0.01, 0.1, 1.0, 10.0)
# Leaves and trees of boosted ensembles.
ENSEMBLES = ((4, 50), (4, 200), (16, 50), (16, 200))


def wabbit(kind: str, x: Floats, new: Floats, *, a: Numbers, r: Floats, p: Floats, kinds: int) -> Numbers:
    """Learn with Vowpal Wabbit's contextual bandit, its best of three rates by its own progressive loss."""
    from vowpalwabbit import Workspace

    def line(row: Floats) -> str:
        return " ".join(f"f{i}:{value:.6g}" for i, value in enumerate(row))

    labels = (
        f"{action + 1}:{-reward:.6g}:{max(weight, 0.01):.6g}" for action, reward, weight in zip(a, r, p, strict=True)
    )
    seen = [f"{label} | {line(row)}" for label, row in zip(labels, x, strict=True)]
    asked = [f"| {line(row)}" for row in new]
    best: tuple[float, Numbers] | None = None
    for rate in (0.05, 0.2, 0.5):
        vw = Workspace(f"--cb {kinds} --cb_type {kind} -l {rate} --quiet --random_seed 1")
        for _ in range(VW_PASSES):
            for example in seen:
                vw.learn(example)
        loss = vw.get_sum_loss() / max(vw.get_weighted_examples(), 1)
        found = np.array([vw.predict(example) - 1 for example in asked], dtype=np.int64)
        vw.finish()
        if best is None or loss < best[0]:
            best = (loss, found)
    assert best is not None
    return best[1]


def logistic(x: Floats, new: Floats, *, a: Numbers, r: Floats, kinds: int) -> Numbers:
    """Fit one logistic regression an action, its penalty chosen by log-loss in folds; choose the largest."""
    from sklearn.linear_model import LogisticRegression

    return per_action([LogisticRegression(C=c, max_iter=1000) for c in PENALTIES], x, new, a=a, r=r, kinds=kinds)


def boosted(x: Floats, new: Floats, *, a: Numbers, r: Floats, kinds: int) -> Numbers:
    """Fit one ensemble of boosted trees an action, its size chosen by log-loss in folds; choose the largest."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    models = [
        HistGradientBoostingClassifier(max_leaf_nodes=leaves, max_iter=trees, random_state=0)
        for leaves, trees in ENSEMBLES
    ]
    return per_action(models, x, new, a=a, r=r, kinds=kinds)


def per_action(models: list[Any], x: Floats, new: Floats, *, a: Numbers, r: Floats, kinds: int) -> Numbers:
    """Choose the action of the largest predicted reward, by one model an action; never one that was not shown."""
    scores = np.full((len(new), kinds), -1.0)
    for action in np.unique(a):
        rows = a == action
        scores[:, action] = _chances(models, x[rows], r[rows].astype(int), new, rate=float(r.mean()))
    return scores.argmax(axis=1)


def _chances(models: list[Any], x: Floats, y: Numbers, new: Floats, *, rate: float) -> Floats:
    """Return predictions of the model with the least log-loss in folds; a shrunk rate, if only one class was seen."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    rarest = np.bincount(y, minlength=2).min()
    if rarest == 0:
        return np.full(len(new), (y.sum() + PRIOR * rate) / (len(y) + PRIOR))
    best = models[0]
    if rarest >= FOLDS:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        best = max(models, key=lambda model: cross_val_score(model, x, y, cv=folds, scoring="neg_log_loss").mean())
    found: Floats = clone(best).fit(x, y).predict_proba(new)[:, 1]
    return found


@dataclass(frozen=True, eq=False)
class CellRows:
    """The cells of a log, and the words of their contexts and actions; categories and ids are words too."""

    contexts: Numbers
    actions: Numbers
    n: Floats
    rewards: Floats
    context_words: list[list[str]]
    action_words: list[list[str]]

    @classmethod
    def of(cls, events: pa.Table, contexts: pa.Table | None, actions: pa.Table | None) -> CellRows:
        sums = events.group_by(["context", "action"]).aggregate([("reward", "count"), ("reward", "sum")])
        x, a = sums["context"].to_numpy(), sums["action"].to_numpy()
        n, rewards = sums["reward_count"].to_numpy().astype(float), sums["reward_sum"].to_numpy()
        sides = _words(contexts, "context", int(x.max()) + 1), _words(actions, "action", int(a.max()) + 1)
        return cls(x, a, n, rewards, *sides)

    def decisions(self, scores: Floats) -> pa.Table:
        """Choose the best-scored cell of every context."""
        order = np.lexsort((-scores, self.contexts))
        best = order[np.unique(self.contexts[order], return_index=True)[1]]
        return pa.table({"context": self.contexts[best], "action": self.actions[best]})


def _words(table: pa.Table | None, key: str, number: int) -> list[list[str]]:
    """Return the words of every id: texts are split, lists are taken as they are."""
    words: list[list[str]] = [[] for _ in range(number)]
    for row in [] if table is None else table.to_pylist():
        if row[key] < number:
            for name, value in row.items():
                if name != key:
                    words[row[key]] += value.split() if isinstance(value, str) else value
    return words


def cell_means(cells: CellRows) -> Iterator[Floats]:
    """Yield means of cells, each drawn to that of all by so many events."""
    rate = cells.rewards.sum() / cells.n.sum()
    for prior in (5, 20, 80):
        yield (cells.rewards + prior * rate) / (cells.n + prior)


def crossed(cells: CellRows) -> Iterator[Floats]:
    """Yield predictions of Vowpal Wabbit's regression on words, with and without ids, crossed (-q)."""
    from vowpalwabbit import Workspace

    order = np.random.default_rng(0).permutation(len(cells.n))
    rate = cells.rewards / cells.n
    for with_ids in (True, False):
        if not with_ids and not (any(cells.context_words) and any(cells.action_words)):
            continue
        left, right = (_side(words, with_ids=with_ids) for words in (cells.context_words, cells.action_words))
        with tempfile.TemporaryDirectory() as folder:
            data, out = Path(folder) / "examples.txt", Path(folder) / "predictions.txt"
            lines = (
                f"{rate[i]:.6g} {cells.n[i]:.6g} |x {left[cells.contexts[i]]} |a {right[cells.actions[i]]}\n"
                for i in order
            )
            data.write_text("".join(lines))
            for learning_rate in (0.005, 0.05, 0.5):
                fixed = f"-d {data} --quiet -b 24 -q xa --cache_file {data}.cache"
                model = f"{data}.model"
                Workspace(f"{fixed} -l {learning_rate} --passes {VW_PASSES} --holdout_off -f {model}").finish()
                Workspace(f"{fixed} -t -i {model} -p {out}").finish()
                scores = np.empty(len(order))
                scores[order] = np.loadtxt(out, ndmin=1)[-len(order) :]
                yield scores


def _side(words: list[list[str]], *, with_ids: bool) -> list[str]:
    """Return features of Vowpal Wabbit, of length 1, and the id where it is asked for."""
    sides = []
    for i, some in enumerate(words):
        weight = f":{len(some) ** -0.5:.4g}" if some else ""
        sides.append(" ".join([*(f"{word}{weight}" for word in some), *([f"id={i}"] if with_ids else [])]))
    return sides


def additive(cells: CellRows) -> Iterator[Floats]:
    """Yield predictions of a logistic regression on ids and words of both sides, not crossed."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    def features(x: int, a: int) -> dict[str, float]:
        both = ("x", x, cells.context_words[x]), ("a", a, cells.action_words[a])
        return {f"{side} {word}": 1.0 for side, i, words in both for word in (f"id={i}", *words)}

    rows = DictVectorizer().fit_transform([features(x, a) for x, a in zip(cells.contexts, cells.actions, strict=True)])
    twice = np.concatenate([np.arange(len(cells.n))] * 2)
    clicked = np.repeat([1, 0], len(cells.n))
    weights = np.concatenate([cells.rewards, cells.n - cells.rewards])
    for penalty in PENALTIES:
        model = LogisticRegression(C=penalty, max_iter=300).fit(rows[twice], clicked, sample_weight=weights)
        yield model.decision_function(rows)


# Settings of these are chosen in hindsight, by the truth: no tuning could do better.
OF_CELLS: dict[str, Callable[[CellRows], Iterator[Floats]]] = {
    "shrunk cell means": cell_means,
    "VW -q": crossed,
    "logistic, not crossed": additive,
}
OF_NUMBERS: dict[str, Callable[..., Numbers]] = {"logistic, one an action": logistic, "boosted, one an action": boosted}
