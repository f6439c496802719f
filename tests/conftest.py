"""Engines and other things that tests need; what a machine lacks skips loudly, or fails where it is required."""

import gc
import os
import shutil
import sys
from pathlib import Path

import pytest

from warmstart.core import DeviceError
from warmstart.engine import connect
from warmstart.kernels import check_device

REQUIRED = set(filter(None, os.environ.get("WARMSTART_REQUIRE", "").split(",")))
# Queries that run once are not worth an optimising compiler: Spark's, and those of its clusters.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
DATA = Path(os.environ.get("WARMSTART_DATA", Path(__file__).parents[2] / "shared" / "data"))


def need(thing, *, present):
    """Skip for want of a thing, or fail if WARMSTART_REQUIRE names it."""
    if present:
        return
    if thing in REQUIRED:
        pytest.fail(f"WARMSTART_REQUIRE names {thing}, which is not here")
    pytest.skip(f"no {thing} on this machine")


def pytest_itemcollected(item):
    """Leave to the slow tests what is slow on Spark."""
    if item.get_closest_marker("slow_on_spark") and item.get_closest_marker("spark"):
        item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """Collect garbage less often, and not among imports: expressions are many small objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_terminal_summary(terminalreporter):
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    things = ("spark", "chromium", "data", "postgres", "gpu", "nvcc")
    lacking = sorted({thing for thing in things for text in skipped if f"no {thing} on" in text})
    if lacking:
        terminalreporter.write_line(f"NOT TESTED for want of: {', '.join(lacking)}", red=True, bold=True)


@pytest.fixture(scope="session")
def duckdb():
    # Nothing here is large enough for two threads, which would wait for each other.
    return connect("duckdb", threads=1)


@pytest.fixture(scope="session")
def spark():
    need("spark", present=shutil.which("java") is not None)
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("warmstart-tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Neither planning anew between stages nor compiling them or their expressions pays for logs of a few hundred
        # events; the clusters of tests/engine do all of that.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.caseSensitive": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield connect("spark")
    session.stop()


@pytest.fixture(scope="session", params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request):
    """Every engine in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session", params=["duckdb", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])])
def any_engine(request):
    """Every engine in turn, for tests that ask so often that Spark takes minutes."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def data():
    need("data", present=DATA.is_dir())
    return DATA


@pytest.fixture(scope="session")
def gpu():
    try:
        check_device("cuda")
    except DeviceError:
        need("gpu", present=False)
