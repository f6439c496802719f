"""The house itself: what an import loads, verbs, documentation, the size and order of the source, the wheel."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from tests.support import source_rules

import warmstart as ws

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "warmstart"
VERBS = {
    "init",
    "check",
    "compare",
    "simulate",
    "audit",
    "compare_propensities",
    "fit",
    "evaluate",
    "choose",
    "export",
    "group",
    "join",
    "monitor",
    "explain",
    "plan",
}


def loaded_by(code):
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(ran.stdout.splitlines()[-1]))


def test_importing_the_library_loads_nothing_heavy():
    heavy = {"pandas", "sklearn", "numba", "scipy", "ibis", "duckdb", "pyarrow", "numpy", "pyspark", "rich", "typer"}
    assert not loaded_by("import warmstart") & heavy


def test_the_help_loads_nothing_heavy():
    heavy = {"pandas", "sklearn", "numba", "scipy", "ibis", "duckdb", "pyarrow", "pyspark"}
    code = """
import sys; sys.argv = ['warmstart', '--help']
from warmstart.cli import main
try: main()
except SystemExit: pass
"""
    assert not loaded_by(code) & heavy


def test_evaluating_files_never_loads_pandas(tmp_path):
    code = f"""
import warmstart as ws, pathlib
path = pathlib.Path({str(tmp_path)!r}) / "log.csv"
path.write_text("page,ad,click\\np,a,1\\np,b,0\\n")
events = ws.read_events(path, context="page", action="ad", reward="click")
assert ws.evaluate("uniform", events, tau=0.1)["uniform"].value == 0.5
"""
    assert not loaded_by(code) & {"pandas", "sklearn", "numba", "scipy"}


def test_the_command_that_evaluates_a_small_log_loads_only_what_that_log_needs(tmp_path):
    code = f"""
import pathlib, sys
path = pathlib.Path({str(tmp_path)!r}) / "log.csv"
rows = [f"{{i % 3}},{{'ab'[i // 3 % 2]}},{{i % 5 // 4}},2026-10-{{1 + i // 40:02}} 12:00" for i in range(400)]
path.write_text("\\n".join(["page,ad,click,at", *rows, ""]))
columns = ["--context", "page", "--action", "ad", "--reward", "click", "--time", "at"]
sys.argv = ["warmstart", "evaluate", str(path), *columns, "--policy", "uniform", "--policy", "logging"]
from warmstart.cli import main
try: main()
except SystemExit as end: assert not end.code
"""
    loaded = loaded_by(code)
    assert "warmstart.policy.daily_uniform" in loaded
    assert not loaded & {"pandas", "sklearn", "numba", "scipy", "pyarrow.compute"}
    rooms = {"auditing.units", "policy.asked", "policy.fitted", "policy.naive", "results.forms", "simulation"}
    assert not loaded & {f"warmstart.{room}" for room in rooms}


def test_learning_and_guessing_never_load_pandas(tmp_path):
    code = f"""
import warmstart as ws, pathlib
folder = pathlib.Path({str(tmp_path)!r})
rows = [f"{{i % 3}},{{i % 7}},{{'ab'[i // 3 % 2]}},{{i % 5 // 4}},2026-10-{{1 + i // 40:02}}" for i in range(400)]
(folder / "log.csv").write_text("\\n".join(["page,hour,ad,click,at", *rows, ""]))
(folder / "pages.csv").write_text("page,words\\n0,red shoes\\n1,blue hats\\n2,red hats\\n")
names = dict(action="ad", reward="click", time="at")
train, test = ws.read_events(folder / "log.csv", context="page", **names).split(fraction=0.5)
ws.save_policy(ws.fit(train, contexts=folder / "pages.csv"), folder / "learned")
learned = ws.evaluate({{"learned": folder / "learned"}}, test, train=train, live=False, estimators=["dr"])["learned"]
assert learned.estimates
by_columns = ws.read_events(folder / "log.csv", context=["page", "hour"], **names)
assert ws.evaluate("constant:a", by_columns, live=False, estimators=["dr"])["constant:a"].estimates
"""
    assert not loaded_by(code) & {"pandas", "sklearn"}


def test_importing_a_log_never_loads_pandas(tmp_path):
    code = f"""
import warmstart as ws, pathlib
folder = pathlib.Path({str(tmp_path)!r})
(folder / "log.vw").write_text("1:0 | a\\n2:-1:0.5 | a\\n")
found = ws.import_vw(folder / "log.vw", folder / "out")
assert found.about["events"] == 2
"""
    assert not loaded_by(code) & {"pandas", "sklearn", "numba", "ibis"}


def test_joining_files_never_loads_pandas(tmp_path):
    code = f"""
import warmstart as ws, pathlib
folder = pathlib.Path({str(tmp_path)!r})
(folder / "shown.csv").write_text("id,page,ad,at\\n1,p,a,2026-10-01\\n2,p,b,2026-10-02\\n")
(folder / "clicks.csv").write_text("id,at\\n2,2026-10-02\\n")
times = dict(impression_time="at", outcome_time="at")
found = ws.join(folder / "shown.csv", folder / "clicks.csv", folder / "log.parquet", on="id", **times)
assert found.impressions.rewarded == 1
"""
    assert not loaded_by(code) & {"pandas", "sklearn", "numba"}


def test_command_verbs_are_library_verbs():
    from warmstart.cli.app import app

    commands = {command.callback.__name__ for command in app.registered_commands} - {"demo"}
    assert hasattr(ws.FittedPolicy, "choose")
    assert commands - {"choose"} == VERBS & set(ws.__all__)


def test_every_public_name_resolves_and_is_documented():
    reference = (ROOT / "docs" / "reference.md").read_text()
    for name in ws.__all__:
        found = getattr(ws, name)
        if name != "__version__":
            assert inspect.getdoc(found), name
            assert re.search(rf"::: warmstart\.{name}\b|`{name}`", reference), f"{name} is not in docs/reference.md"
    with pytest.raises(AttributeError):
        ws.nothing_of_the_kind  # noqa: B018


def test_functions_of_many_parameters_list_them():
    """Listed under Args, where there are more than three."""
    functions = [(name, found) for name in ws.__all__ if inspect.isfunction(found := getattr(ws, name))]
    long = [(name, found) for name, found in functions if len(inspect.signature(found).parameters) > 3]
    assert len(long) > 10
    assert not [name for name, found in long if "Args:" not in inspect.getdoc(found)]


def test_the_front_door_says_the_same_to_type_checkers():
    tree = ast.parse((ROOT / "src" / "warmstart" / "__init__.py").read_text())
    typed = {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed - {None} == set(ws.__all__) - {"__version__"}


def test_no_source_file_is_long():
    assert not source_rules.long_files(PACKAGE)


def test_no_function_is_long():
    assert not source_rules.long_functions(PACKAGE)


def test_docstrings_compile_on_every_python():
    assert not source_rules.unwritable_docstrings(PACKAGE)


def test_rooms_are_entered_by_their_doors():
    assert not source_rules.past_the_door(PACKAGE)


def test_no_room_imports_in_circles_but_two():
    """Inside functions: a page is chosen by the kind of its result, and results show themselves by their verdicts."""
    assert set(source_rules.import_cycles(PACKAGE)) <= {"report", "results"}


def test_propensities_are_counted_in_one_place():
    assert not source_rules.divided_elsewhere(PACKAGE)


def test_little_code_stands_twice():
    assert source_rules.repeated_share(PACKAGE) < 0.03


def test_every_test_file_is_named_after_a_module():
    assert not source_rules.without_a_module(ROOT / "tests", PACKAGE)


def test_nothing_imports_from_a_test_module():
    assert not source_rules.imports_of_tests(ROOT / "tests")


def test_the_rules_find_what_breaks_them(tmp_path):
    other = "tests.attic.test_box"
    long, documented = "    x = 1\n" * 60, '    """Doc.\n\n    More.\n    """\n'
    files = {
        "src/house/hall/__init__.py": "",
        "src/house/hall/big.py": "x = 1\n" * 351,
        "src/house/hall/slow.py": f"def f():\n{documented}{long}    x = 1\n",
        "src/house/hall/brief.py": f"def f(\n    a,\n):\n{documented}{long}",
        "src/house/hall/private.py": f"def _f():\n{long}",
        "src/house/hall/door.py": "import typing\nif typing.TYPE_CHECKING:\n    from house.attic.box import y\n",
        "src/house/attic/__init__.py": "from house.attic.box import y\n",
        "src/house/attic/box.py": '"""Two lines,\nof text."""\n\ny = 1  # and code\n',
        "src/house/attic/chest/__init__.py": "from house.hall import big\n",
        "src/house/attic/odd.py": 'def f():\n    """Odd: \\udcff."""\n',
        "src/house/cellar/wine.py": "from house.cellar.beer import x\n",
        "src/house/cellar/beer.py": "def f():\n    from house.cellar.wine import y\n",
        "src/house/yard/tree.py": "if TYPE_CHECKING:\n    from house.yard.lawn import x\n",
        "src/house/yard/lawn.py": "from house.yard.tree import y\n",
        "src/house/attic/share.py": "p = rows.n / rows.context_n\nq = rows.n / rows.m\n",
        "tests/attic/test_box.py": "from tests.support import paper\n",
        "tests/attic/test_chest.py": f"from {other} import a\n",
        "tests/attic/test_lamp.py": f"from {other.removesuffix('.test_box')} import test_box\n",
        "tests/claims/test_anything.py": f"PROGRAM = '''\n    from {other} import a\n'''\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    package, tests = tmp_path / "src" / "house", tmp_path / "tests"
    assert source_rules.long_files(package) == ["hall/big.py 351 lines"]
    assert source_rules.long_functions(package) == ["hall/private.py:1 _f 61 lines", "hall/slow.py:1 f 61 lines"]
    assert source_rules.unwritable_docstrings(package) == ["attic/odd.py:2"]
    assert source_rules.past_the_door(package) == ["hall/door.py:3 house.attic.box"]
    assert source_rules.import_cycles(package) == ["cellar"]
    assert source_rules.divided_elsewhere(package) == ["attic/share.py:1 n / context_n"]
    assert source_rules.repeated_share(package) > 0.9
    assert source_rules.without_a_module(tests, package) == ["attic/test_lamp.py"]
    assert source_rules.imports_of_tests(tests) == [
        "attic/test_chest.py:1 tests.attic.test_box.a",
        "attic/test_lamp.py:1 tests.attic.test_box",
        "claims/test_anything.py:2 tests.attic.test_box.a",
    ]


def test_versions_agree():
    assert f'version = "{ws.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"[{ws.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_lock_files_are_plain_pins_and_agree():
    locks = {}
    for name in ("core", "dev"):
        lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
        assert all(re.fullmatch(r"[a-z0-9._-]+==[\w.]+", line) for line in lines)
        locks[name] = set(lines)
    assert locks["core"] <= locks["dev"]


def test_paper_map_names_functions_and_tests_that_exist():
    rows = re.findall(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`", (ROOT / "docs" / "paper-map.md").read_text())
    assert len(rows) >= 8
    for path, name in rows:
        assert (ROOT / path).is_file(), path
        assert not name or f"def {name}(" in (ROOT / path).read_text(), name
    for module, name in re.findall(r"`warmstart\.([\w.]+)\.(\w+)`", (ROOT / "docs" / "paper-map.md").read_text()):
        found = __import__(f"warmstart.{module}", fromlist=[name])
        assert hasattr(found, name), f"{module}.{name}"


def test_the_wheel_works_in_a_clean_environment(tmp_path):
    """Built here, installed with its pinned dependencies into an environment of its own, used from another folder."""
    subprocess.run(
        [sys.executable, "-m", "uv", "build", "--wheel", "--quiet", "--out-dir", str(tmp_path), str(ROOT)], check=True
    )
    wheel = next(tmp_path.glob("warmstart-*.whl"))
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    packages = next((tmp_path / "venv" / "lib").glob("python*")) / "site-packages"
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(python)]
    subprocess.run([*install, str(wheel), "-c", str(ROOT / "requirements" / "core.txt")], check=True)
    assert (packages / "warmstart" / "py.typed").is_file()
    (tmp_path / "log.csv").write_text("page,ad,click\np,a,1\np,b,0\n")
    command = [
        *(str(tmp_path / "venv" / "bin" / "warmstart"), "evaluate", "log.csv", "--context", "page", "--action", "ad"),
        *("--reward", "click", "--policy", "uniform", "--tau", "0.1", "--json"),
    ]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=clean, check=True)
    assert json.loads(ran.stdout)["policies"][0]["value"] == 0.5
