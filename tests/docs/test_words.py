"""The documentation speaks the field's language, and names only what exists."""

import dataclasses
import re
from pathlib import Path

import pytest
import typer

import warmstart as ws
from warmstart.cli.app import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RECORD = DOCS / "decisions" / "0014-words-of-the-field.md"
PAGES = [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if page != RECORD)]
FIELD = (
    *("off-policy", "counterfactual", "logged bandit feedback", "inverse propensity", "self-normalised"),
    *("doubly robust", "behaviour", "confidence interval", "overlap"),
)
OF_CONCEPT = {
    "propensity.md": ("pscore", "behaviour policy", "inverse propensity"),
    "clipping.md": ("inverse propensity", "importance weight", "clipping constant"),
    "windows.md": ("off-policy evaluation", "train and a test set"),
    "interval.md": ("confidence interval",),
    "assumptions.md": ("off-policy", "unobserved confounding", "stationarity"),
    "glossary.md": ("off-policy evaluation", "contextual bandits"),
    "limits.md": ("off-policy evaluation",),
    "methods.md": ("counterfactual", "inverse propensity", "doubly robust", "confidence intervals"),
}
RETIRED = (
    *("--weights-from", "weights_from", "best guess", "on_supported", "on_step", "--pass ", "--explore contexts"),
    *("exchange/", "worlds/"),
)


def in_one_line(text):
    return re.sub(r"\s+", " ", text).lower()


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
@pytest.mark.parametrize("term", FIELD)
def test_a_newcomer_finds_the_fields_terms(page, term):
    assert term in in_one_line((ROOT / page).read_text())


def test_every_concept_page_names_the_fields_terms_in_its_first_paragraph():
    pages = {page.name: page for page in (DOCS / "concepts").glob("*.md")}
    assert pages.keys() == OF_CONCEPT.keys()
    for name, terms in OF_CONCEPT.items():
        _, first, *_ = pages[name].read_text().split("\n\n")
        for term in terms:
            assert term in in_one_line(first), f"{name}: {term}"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/getting-started.md", "mkdocs.yml"])
def test_the_glossary_is_linked(page):
    assert "concepts/glossary.md" in (ROOT / page).read_text()


def test_the_glossary_names_fields_that_exist():
    fields = {field.name for field in dataclasses.fields(ws.ValueEstimate)}
    named = re.findall(r"`ValueEstimate\.(\w+)`", (DOCS / "concepts" / "glossary.md").read_text())
    assert len(named) >= 5
    assert set(named) <= fields
    functions = set(re.findall(r"`ws\.(\w+)", (DOCS / "concepts" / "glossary.md").read_text()))
    assert functions
    assert functions <= set(ws.__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_retired_names_are_gone(page):
    text = page.read_text()
    assert not [name for name in RETIRED if name in text]


def options_of(command):
    return {name for parameter in command.params for name in parameter.opts} | {"--help", "--install-completion"}


def commands_in(text):
    """The command lines of the fenced blocks, continued lines joined: their words after 'warmstart'."""
    for block in re.findall(r"^```\w*\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            called = re.search(r"(?<!import )\bwarmstart ((?:import )?[a-z]+) (.*)", line)
            if called:
                yield called[1], called[2]


def command_called(name):
    command = typer.main.get_command(app)
    for word in name.split():
        command = command.commands[word]
    return command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_have_the_options_that_pages_name(page):
    for name, rest in commands_in(page.read_text()):
        options = set(re.findall(r"(?<=\s)--[a-z][\w-]*", f" {rest.split('#')[0]}"))
        assert options <= options_of(command_called(name)), f"{name}: {options - options_of(command_called(name))}"


def every_option():
    todo, options = [typer.main.get_command(app)], set()
    while todo:
        command = todo.pop()
        options |= options_of(command)
        todo += getattr(command, "commands", {}).values()
    return options


# Not the guide that names Vowpal Wabbit's own options too; its commands are run.
GUIDES = [page for page in sorted((DOCS / "guides").glob("*.md")) if page.name != "from-vowpal-wabbit.md"]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_options_in_the_text_of_guides_exist(page):
    named = set(re.findall(r"`(?:[a-z]+ )?(--[a-z][\w-]*)", page.read_text()))
    assert named <= every_option(), named - every_option()
