"""Words that options take, for a shell to complete. They are spelled out here so that completing loads no room."""

from __future__ import annotations

from collections.abc import Callable

from warmstart.core import CODES as REGISTRY

INTERVALS = ("bets", "kl", "hoeffding", "bernstein", "gamma", "bootstrap")
PROPENSITIES = ("auto", "counts", "train", "all", "back-off", "model", "mixture", "logged")
SOURCES = ("uniform", "shares", "counts", "back-off", "model", "mixture", "logged")
ESTIMATORS = ("ips", "snips", "dm", "dr", "switch-dr", "shrunk-dr")
WINDOWS = ("evaluated", "train", "all")
POLICIES = ("logging", "uniform", "uniform-all")
AUTO = ("auto",)
NEVER = ("never",)
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
DUPLICATES = ("first", "sum", "max", "error")
REPEATED = ("last", "error")
WITHOUT_OUTCOME = ("zero", "leave-out")
CODES = tuple(REGISTRY)


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
