"""A connection or a worker lost in the middle of a command: the same answer, or an error of ours."""

import shutil

import pytest
from tests.attack.cuts import attack_cluster, attack_postgres
from tests.conftest import need
from tests.support.postgres_server import programs, server_with_reader


@pytest.fixture(scope="module")
def server():
    need("postgres", present=programs() is not None)
    with server_with_reader() as running:
        yield running


def test_a_connection_lost_at_any_query_is_an_error_of_ours(server):
    counts = attack_postgres(server, ["policy_table"])
    assert counts["policy_table"][0] >= 4


@pytest.mark.slow
def test_a_connection_lost_at_any_query_of_any_command_is_an_error_of_ours(server):
    assert all(errors for errors, _ in attack_postgres(server).values())


@pytest.mark.slow
@pytest.mark.spark
def test_a_worker_lost_in_a_command_changes_nothing():
    need("spark", present=shutil.which("java") is not None)
    assert attack_cluster(["evaluate"], shares=[0.7]) == {"evaluate": [0]}
