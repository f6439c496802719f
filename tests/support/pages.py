"""The blocks of pages, and which guides run as they are written."""

import re

# What a guide leaves.
MADE = {
    "doubt.md": [],
    "from-obp.md": [],
    "from-vowpal-wabbit.md": ["vw.parquet", "again.vw"],
    "late-rewards.md": ["joined.parquet"],
    "llm-routers.md": ["judged.parquet", "router.html", "router/policy.json"],
    "log-propensities.md": ["day.parquet"],
    "outcomes.md": ["routes.html"],
    "pipeline.md": ["warmstart.toml", "check.xml", "check.md", "evaluation.json"],
    "plan.md": ["show.csv", "plan.html"],
    "segments.md": ["segments.html"],
    "serve.md": ["policy/policy.json"],
}


def blocks_of(text):
    """The language and text of every fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
