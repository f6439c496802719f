"""Commands and programs that pages show for a log of one's own run, on a small log with the columns they name."""

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.conftest import need
from tests.support.commands import warmstart
from tests.support.pages import MADE, blocks_of

import warmstart as ws

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COLUMNS = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
# Pages, and how many commands and programs of theirs run here. Other tests run what other pages have.
PAGES = {
    "README.md": (2, 1),
    "docs/getting-started.md": (3, 1),
    "docs/codes.md": (1, 0),
    "docs/reference.md": (0, 1),
    "docs/guides/audit.md": (1, 1),
    "docs/guides/evaluate.md": (1, 1),
    "docs/guides/fit.md": (3, 1),
    "docs/guides/learning-loggers.md": (3, 1),
    "docs/guides/log-propensities.md": (1, 0),
    "docs/guides/monitor.md": (1, 0),
    "docs/guides/propensities.md": (3, 2),
    "docs/guides/safe.md": (2, 1),
    "docs/guides/simulate.md": (3, 1),
    "docs/guides/spark.md": (3, 0),
    "docs/guides/units.md": (2, 0),
    "docs/guides/warehouse.md": (1, 1),
    "docs/gallery/contexts-never-repeat.md": (2, 0),
    "docs/gallery/deterministic-logger.md": (3, 0),
    "docs/gallery/late-clicks.md": (2, 0),
    "docs/gallery/learning-logger.md": (2, 0),
    "docs/gallery/two-goals.md": (1, 0),
    "docs/gallery/users-repeat.md": (1, 0),
    "docs/gallery/warehouse.md": (1, 0),
    "docs/gallery/which-model.md": (2, 0),
}
# What is elsewhere here: servers, clusters, folders of the demo, sizes.
HERE = {
    "postgres://reader@warehouse.example/shop": "shop.duckdb",
    "warmstart-demo/month/events.parquet": "log.parquet",
    "warmstart-demo/policies/learned": "demo-policy",
    "choose policy --contexts new-pages.parquet --explore": "choose demo-policy --contexts new-pages.parquet --explore",
    "[17, 4, 23]": "[1, 0, 2]",
    " --engine spark://host:7077": "",
    "--events 200000": "--events 3000",
    "warmstart simulate month ": "warmstart simulate month --events 3000 ",
    'simulate("month", scale="small"': 'simulate("month", events=3000',
}
# Not run here: what takes minutes, and what three commands from a CSV do in a test of their own.
NOT_HERE = re.compile(
    r"--scale paper|^warmstart (init log.csv|audit|evaluate --policy rule=rule.csv)( *#.*)?$|MASTER|import litellm"
)


# Pages that run in `make test`; all of them take a minute, in `make test-slow`.
QUICK = re.compile(r"README|two-goals|late-clicks|units")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with a log, its features, decisions, and the same log as a database."""
    folder = tmp_path_factory.mktemp("shop")
    rng, n = np.random.default_rng(0), 4_000
    start = pd.Timestamp("2026-03-01", tz="UTC")
    day = np.arange(n) * 12 // n
    page, spend = rng.integers(0, 6, n), rng.normal(size=n).round(3)
    ad = (page + day + (rng.random(n) < 0.3)) % 3
    click = rng.random(n) < np.where(ad == page % 3, 0.5, 0.2)
    log = pd.DataFrame({"page": page, "ad": ad, "click": click.astype(int)})
    log = log.assign(shown_at=start + pd.to_timedelta(day, "D"), user=rng.integers(0, 900, n), request=np.arange(n))
    log = log.assign(age=rng.integers(20, 60, n), city=rng.choice(["Oslo", "Kiel"], n), spend=spend, site=page % 2)
    log = log.assign(offer=ad, bought=log["click"], time=log["shown_at"], release=day // 4, reader=page, mail=ad)
    log = log.assign(order=log["click"], left=(rng.random(n) < 0.1).astype(int))
    log.to_parquet(folder / "log.parquet")
    (folder / "log").mkdir()
    shutil.copy(folder / "log.parquet", folder / "log" / "part.parquet")
    pages = pd.DataFrame({"page": range(6), "words": [["garden", "tools"][: 1 + i % 2] for i in range(6)]})
    pages = pages.assign(frequencies=[[2, 1][: len(words)] for words in pages["words"]])
    for name in ("pages", "new-pages"):
        pages.to_parquet(folder / f"{name}.parquet")
    pd.DataFrame({"ad": range(3), "size": [1.0, 2.0, 3.0]}).to_parquet(folder / "ads.parquet")
    log.drop(columns="click").assign(ad=np.array(["old", "new", "sale"])[ad]).to_parquet(folder / "shown.parquet")
    bought = log[log["click"] == 1][["request"]].assign(ordered_at=log["shown_at"] + pd.Timedelta("1h"))
    bought.to_parquet(folder / "orders.parquet")
    words = ["sort a list", "what is the law of torts", "integrate x squared", "write a poem", "court and contract"]
    prompts = [f"{words[i % 5]} {words[i % 3]} please number {i % 40}" for i in range(n)]
    judged = pd.DataFrame({"prompt": prompts, "model": np.where(ad == 0, "small", "large"), "good": click.astype(int)})
    judged.assign(time=log["time"], cost=0.001 + 0.001 * (ad > 0)).to_parquet(folder / "judged.parquet")
    with contextlib.closing(duckdb.connect(folder / "shop.duckdb")) as base:
        base.execute(f"CREATE SCHEMA ads; CREATE TABLE ads.shown AS FROM '{folder / 'log.parquet'}'")
    columns = "--context page --action ad --reward click --contexts pages.parquet"
    run(f"warmstart fit log.parquet {columns} --out demo-policy", folder)
    return folder


def run(command, folder):
    """Run a command; its words must be understood, and it must succeed."""
    ran = warmstart(*shlex.split(command, comments=True)[1:], cwd=folder)
    assert ran.returncode == 0, f"{command}\n{ran.stderr}"


def decisions_for(command, folder):
    """Write the table of decisions that a command reads: its context columns and its action."""
    keys = re.findall(r"--context (\w+)", command) or ["page"]
    action = (re.findall(r"--action (\w+)", command) or ["ad"])[0]
    log = pd.read_parquet(folder / "log.parquet")
    frame = log[keys].drop_duplicates().assign(**{action: 1})
    frame.to_csv(folder / "decisions.csv", index=False)
    return frame


def commands_of(page):
    """The commands of a page, in the form in which they can be run here."""
    text = (ROOT / page).read_text()
    blocks = "".join(code for language, code in blocks_of(text) if language in ("", "sh", "bash"))
    if Path(page).name in MADE:
        blocks = "".join(code for language, code in blocks_of(text) if not language)
    lines = [line.strip() for line in blocks.replace("\\\n", " ").splitlines()]
    lines = [line for line in lines if line.startswith("warmstart ") and not NOT_HERE.search(line)]
    for there, here in HERE.items():
        lines = [line.replace(there, here) for line in lines]
    return lines


def programs_of(page):
    """The programs of a page that no other test runs."""
    programs = [code for language, code in blocks_of((ROOT / page).read_text()) if language == "python"]
    programs = [] if page.startswith("docs/gallery") or Path(page).name in MADE else programs
    for there, here in HERE.items():
        programs = [code.replace(there, here) for code in programs]
    return [code for code in programs if "spark.table" not in code and "class Evenings" not in code]


def names(folder):
    """What the programs of guides take for granted."""
    log_frame, decisions_frame = pd.read_parquet(folder / "log.parquet"), decisions_for("", folder)
    events = ws.read_events(log_frame, **COLUMNS)
    train, test = events.split(fraction=0.65)
    result = ws.evaluate("uniform", test, train=train)
    site = ws.read_events(log_frame, **{**COLUMNS, "context": ["site", "page"]})
    given = {"ws": ws, "log_frame": log_frame, "decisions_frame": decisions_frame, "decisions": decisions_frame}
    given |= {"events": events, "train": train, "test": test, "result": result, "site": site}
    return given | {"my_table": pa.table({"page": [1], "ad": [1]})}


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=() if QUICK.search(page) else pytest.mark.slow) for page in PAGES]
)
def test_commands_and_programs_of_a_page_run_as_written(page, shop, tmp_path, monkeypatch):
    folder = tmp_path / "shop"
    shutil.copytree(shop, folder)
    commands, programs = commands_of(page), programs_of(page)
    assert (len(commands), len(programs)) == PAGES[page]
    for command in commands:
        if "decisions.csv" in command:
            decisions_for(command, folder)
        run(command, folder)
    monkeypatch.chdir(folder)
    shutil.rmtree("month", ignore_errors=True)
    shutil.rmtree("policy", ignore_errors=True)
    given = names(folder) if programs else {}
    for program in programs:
        if "coarser=[[" in program:
            given["events"] = given["site"]
        exec(compile(program, page, "exec"), given)


@pytest.mark.spark
@pytest.mark.slow
def test_the_program_of_the_guide_of_spark_runs_on_its_tables(shop, spark):
    from pyspark.sql import SparkSession

    session = SparkSession.active()
    for name, file in (("impressions", "log"), ("pages", "pages")):
        session.read.parquet(str(shop / f"{file}.parquet")).createOrReplaceTempView(name)
    (program,) = (code for _, code in blocks_of((DOCS / "guides" / "spark.md").read_text()) if "spark.table" in code)
    program = program.replace("ads.parquet", str(shop / "ads.parquet"))
    exec(compile(program, "spark.md", "exec"), {"ws": ws, "spark": session})


@pytest.mark.spark
@pytest.mark.slow
def test_the_command_with_a_cluster_of_one_s_own_runs(shop):
    need("spark", present=shutil.which("java") is not None)
    (command,) = (code for _, code in blocks_of((DOCS / "guides" / "spark.md").read_text()) if "MASTER" in code)
    words = shlex.split(command.replace("\\\n", " ").replace("scripts/", f"{ROOT / 'scripts'}/"))
    words = [sys.executable, *words[1:]]
    words[words.index("warmstart")] = str(Path(sys.executable).parent / "warmstart")
    ran = subprocess.run(words, cwd=shop, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("VERDICT: ")


def test_no_page_is_left_out():
    shown = {str(path.relative_to(ROOT)) for path in (ROOT / "README.md", *DOCS.rglob("*.md"))}
    shown = {page for page in shown if commands_of(page) or programs_of(page)}
    elsewhere = {
        "docs/index.md",
        "docs/tutorial.md",
        "docs/routers.md",
        *(f"docs/guides/{name}" for name in MADE),
    }
    assert shown - elsewhere <= set(PAGES)
