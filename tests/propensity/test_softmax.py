"""Many logistic regressions at once: each is what scikit-learn finds alone."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from warmstart.propensity import softmax as module
from warmstart.propensity.softmax import fit_softmax
from warmstart.propensity.training import Training


def groups(seed, sizes=(60, 200, 120), *, columns=3):
    rng = np.random.default_rng(seed)
    parts = []
    for size in sizes:
        x, n = rng.normal(size=(size, columns)), rng.integers(1, 4, size).astype(float)
        kinds = rng.choice(9, rng.integers(2, 6), replace=False)
        classes = kinds[(x @ rng.normal(size=(columns, len(kinds))) + rng.gumbel(size=(size, len(kinds)))).argmax(1)]
        parts.append(Training(x, classes, n, n, np.arange(size)))
    return parts


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("variance", [0.1, 5.0])
def test_every_group_is_what_scikit_learn_finds_alone(variance, as_sparse, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_BATCH", 600)
    parts = groups(0, (60, 200, 120, 90))
    given = [
        Training(sparse.csr_matrix(part.x), part.classes, part.n, part.weights, part.ids) if as_sparse else part
        for part in parts
    ]
    found = fit_softmax(given, variance=variance, tolerance=1e-7)
    for part, fit in zip(parts, found, strict=True):
        alone = LogisticRegression(C=variance, max_iter=2000, tol=1e-8).fit(part.x, part.classes, part.n)
        assert fit.converged
        assert fit.classes.tolist() == alone.classes_.tolist()
        assert np.exp(fit.log_probabilities(part.x)) == pytest.approx(alone.predict_proba(part.x), abs=2e-4)


def test_a_start_changes_the_way_and_not_the_end():
    parts = groups(1)
    cold = fit_softmax(parts, variance=1.0, tolerance=1e-7)
    warm = fit_softmax(parts, variance=1.0, tolerance=1e-7, starts=fit_softmax(parts, variance=0.1, tolerance=1e-3))
    for one, other, part in zip(cold, warm, parts, strict=True):
        assert one.log_probabilities(part.x) == pytest.approx(other.log_probabilities(part.x), abs=1e-3)


def test_a_group_of_one_class_is_certain_of_it():
    part = groups(2)[0]
    alone = Training(part.x, np.full(60, 4), part.n, part.weights, part.ids)
    found = fit_softmax([alone, part], variance=1.0, tolerance=1e-4)
    assert found[0].classes.tolist() == [4]
    assert (np.exp(found[0].log_probabilities(part.x)) == 1).all()
    assert found[1].classifier is not None


def test_separable_classes_become_sharp():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 2))
    part = Training(x, (x[:, 0] > 0).astype(int), np.ones(300), np.ones(300), np.arange(300))
    (found,) = fit_softmax([part], variance=100.0, tolerance=1e-4)
    p = np.exp(found.log_probabilities(x))[np.arange(300), part.classes]
    assert np.median(p) > 0.999
