"""Evaluations by the hundred leave no table and no file, and processes at once do not disturb each other."""

import pytest
from tests.attack.load import check_again, check_at_once
from tests.attack.workplace import build


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return build(tmp_path_factory.mktemp("inputs"), policy=False)


def test_evaluations_in_one_process_leave_no_table_and_no_file(inputs):
    check_again(inputs, 4, most=1e9)


@pytest.mark.slow
def test_many_evaluations_in_one_process_need_no_more_memory(inputs):
    check_again(inputs, 80, most=10e6)


@pytest.mark.slow
def test_processes_at_once_say_the_same(inputs, tmp_path):
    check_at_once(inputs, 6, tmp_path / "page.html")
