"""Words that options take, for a shell to complete, but for those of settings.

They are spelled out so that completing loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from warmstart.core import CODES as REGISTRY

SOURCES = ("uniform", "shares", "counts", "back-off", "model", "mixture", "logged")
POLICIES = ("logging", "uniform", "uniform-all", "constants")
PASSES = ("cells", "events")
LOSSES = ("squared", "logistic")
MODELS = ("auto", "product", "low-rank", "logistic", "trees", "cells")
SCALES = ("small", "medium", "paper")
STICKY = ("nothing", "action", "both")
LEARNERS = ("thompson", "epsilon-greedy", "greedy", "nightly")
EXPORTS = ("vw-cb", "vw-adf", "dsjson", "parquet")
IMPORTS = ("auto", "cb", "cb_adf", "dsjson", "json")
SCORES = ("costs", "probabilities")
PROMPTS = ("none", "hash", "text")
MODEL_NAMES = ("auto", "request", "response")
DUPLICATES = ("first", "sum", "max", "error")
REPEATED = ("last", "error")
WITHOUT_OUTCOME = ("zero", "leave-out")
CODES = tuple(REGISTRY)


def option(flag: str, metavar: str | None, text: str, *, words: tuple[str, ...] = (), **more: Any) -> Any:
    """Describe an option, with the words that a shell completes."""
    complete = one_of(words) if words else None
    return typer.Option(flag, metavar=metavar, help=text, autocompletion=complete, **more)


def one_of(words: tuple[str, ...]) -> Callable[[str], list[str]]:
    """Return what typer asks for the words that begin as the user did.

    >>> one_of(LOSSES)("log")
    ['logistic']
    """

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def complete_code(incomplete: str) -> list[str]:
    """Return the codes that begin as the user did, in small letters if the user writes these.

    >>> complete_code("ws50")
    ['ws501', 'ws502']
    """
    words = tuple(code.lower() for code in CODES) if incomplete.startswith("w") else CODES
    return one_of(words)(incomplete)
