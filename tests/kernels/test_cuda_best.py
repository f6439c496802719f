"""The best of all actions on a GPU: its NumPy twin against the CPU's kernel and, where there is one, the GPU's too."""

import numpy as np
import pytest
from tests.support import device_twin as twin
from tests.support.device_checks import WIDTH, check_best_of_all, problem

from warmstart.kernels import best_of_all, pack_columns
from warmstart.kernels.cuda_best import _first_of_best


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("contexts", [1, 33, 70])
def test_the_best_of_all_is_that_of_the_cpu_to_the_last_bit_with_the_squared_loss(code, contexts):
    _, x, a, weights, factors = problem(contexts, contexts=contexts, actions=100)
    best, scores = np.full(contexts, -1), np.full(contexts, np.nan)
    packed = (*pack_columns(a[0], WIDTH), factors)
    best_of_all(np.arange(contexts), x[0], packed, (weights, WIDTH, 0.05, code), best, scores)
    theirs, expected = twin.best_of_all(x[0], a[0], factors, weights, WIDTH, 0.05, code)
    assert np.array_equal(best, theirs)
    assert np.abs(scores - expected).max() <= (1e-6 if code else 0.0)


def test_of_parts_of_the_actions_the_first_best_is_taken():
    scores = np.array([[0.1, 0.5, 0.2], [0.3, 0.5, 0.1]])
    best, top = _first_of_best(np.array([[4, 5, 6], [14, 15, 16]], np.int32), scores)
    assert (best.tolist(), top.tolist()) == ([14, 5, 6], [0.3, 0.5, 0.2])


@pytest.mark.gpu
def test_on_a_gpu_choices_are_those_of_the_twin(gpu):
    check_best_of_all()
