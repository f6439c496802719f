"""Write llms.txt, a map of the documentation for language models, when the site is built (a hook of MkDocs)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

TOP = """# warmstart

> Off-policy (counterfactual) evaluation and learning from logged bandit feedback whose propensities were never
> recorded: a Python library and a command line. It counts or models the propensities of the behaviour (logging)
> policy, and tells what another policy would have earned, with confidence intervals, certified bounds, and where the
> log cannot tell.

What to know before you write code with it:

- `import warmstart as ws`; `events = ws.read_events(log, context=..., action=..., reward=..., time=...)`; a log is a
  file, a folder, a glob, a frame, the address of a database or an Ibis table.
- `train, test = events.split(fraction=0.65)`; `result = ws.evaluate({"new": policy}, test, train=train)`; a policy is a
  frame or file of decisions, a function of a frame of contexts, a scikit-learn model, a dict, a folder that `fit`
  wrote, or a word: `logging`, `uniform`, `constant:ACTION`, `constants`.
- Read `result.verdict.title` first, then `result["new"].gain.certified` (None unless propensities are counted) and
  `result["new"].best` (doubly robust). `result.to_dict()` is what `--json` prints.
- The context must have everything that the logging policy looked at and that predicts the reward. Name who comes back
  with `unit=`, and how often a learning logger is updated with `epoch=`. Say `trained_until="never"` of policies that
  were not learned from this log.
- Never fill a missing propensity in with 1 or with uniform. Leave it out: warmstart estimates it.
- The command line has the same verbs: `warmstart init LOG`, `audit`, `evaluate`, `fit`, `plan`, `check`, `monitor`;
  `warmstart explain WS104` says what a code means.
"""
LEFT_OUT = {"Home", "Decisions"}
NOISE = re.compile(r"\A---\n.*?\n---\n|<!--.*?-->|^```.*?^```$|^\s*[#!|<-].*?$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
SENTENCE = re.compile(r"(?<=[.?!:])\"? (?=[A-Z*`\"])")


def described(page: Path) -> str:
    """Return a page's first sentence, without marks; of a page of the gallery its question."""
    text = page.read_text(encoding="utf-8")
    if page.parent.name == "gallery" and page.name != "index.md":
        return text.splitlines()[0].removeprefix("# ")
    words = LINK.sub(r"\1", " ".join(NOISE.sub("", text).split())).replace("**", "")
    return SENTENCE.split(words)[0].strip('":')


def lines(entries: list[Any], docs: Path) -> list[str]:
    """Return a line for each page of a part of the navigation."""
    found = []
    for entry in entries:
        title, place = next(iter(entry.items())) if isinstance(entry, dict) else ("Questions", entry)
        if isinstance(place, list):
            found += ["", f"## {title}", "", *lines(place, docs)]
        else:
            found.append(f"- [{title}]({place.removesuffix('.md')}.html): {described(docs / place)}")
    return found


def text(nav: list[Any], docs: Path) -> str:
    """Return the file: what to know, then every page of the navigation."""
    entries = [one for one in nav if next(iter(one)) not in LEFT_OUT]
    single = [one for one in entries if not isinstance(next(iter(one.values())), list)]
    parts = [one for one in entries if one not in single]
    return "\n".join([TOP, "## Pages", "", *lines(single, docs), *lines(parts, docs)]) + "\n"


def on_post_build(config: Any, **_: Any) -> None:
    """Write the file into the site."""
    Path(config["site_dir"], "llms.txt").write_text(text(config["nav"], Path(config["docs_dir"])), encoding="utf-8")
