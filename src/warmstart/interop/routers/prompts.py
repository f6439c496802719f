"""The text of a prompt: what users said, of the messages in whatever form a log keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from warmstart.interop.json_values import unfolded

DEEPEST = 8
# Where an object keeps what was said: messages and parts of APIs and of OpenTelemetry.
INNER = ("messages", "input", "prompt", "contents", "content", "parts", "text")
HASH_LENGTH = 32


def prompt_text(value: Any) -> str | None:
    """Return what users said, message by message; all that was said where no message is a user's.

    >>> prompt_text([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why is the sky blue?"}])
    'Why is the sky blue?'
    """
    parts = list(_said("", unfolded(value), DEEPEST))
    chosen = [said for role, said in parts if role == "user"] or [said for _, said in parts]
    return "\n".join(chosen) or None


def prompt_hash(text: str) -> str:
    """Return a hash that equal prompts share. Whoever guesses a prompt can confirm it by its hash."""
    return sha256(text.encode(errors="replace")).hexdigest()[:HASH_LENGTH]


def _said(role: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Give the texts inside a value, each with the role of the message that it is in."""
    if not depth:
        return
    if isinstance(value, str):
        if value:
            yield role, value
    elif isinstance(value, list):
        for part in value:
            yield from _said(role, part, depth - 1)
    elif isinstance(value, dict):
        given = value.get("role")
        inner = next((value[name] for name in INNER if value.get(name)), None)
        yield from _said(given if isinstance(given, str) else role, unfolded(inner) if depth > 1 else None, depth - 1)
