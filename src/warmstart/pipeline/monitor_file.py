"""The small file that a monitor appends to: a line of settings, then a line of JSON for every epoch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core import SavedFileError, UsageError, printable, quoted, write_output
from warmstart.estimators import EpochState
from warmstart.results import EpochEstimate, FollowedPolicy, MonitorLine, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmstart.policy import NamedPolicy

FORMAT = 1
HEAD = "warmstart_monitor"


def read_lines(path: Path, settings: Mapping[str, Any]) -> tuple[dict[str, str], list[MonitorLine]]:
    """Read what earlier looks reported: the marks of policies, and the lines; everything is checked.

    Args:
        path: The file; none of it if it does not exist.
        settings: Of this look, which must be those of the earlier ones.
    """
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return {}, []
    try:
        head, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        _check_head(head, lines)
        known = dict(head["settings"])
        marks = {str(name): str(mark) for name, mark in head["policies"].items()}
        results = [_line(line) for line in lines]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        hint = "Restore it, or name a new file and begin again."
        raise SavedFileError(f"{printable(path)} is not what a monitor wrote: {printable(error)}.", hint) from error
    for name, value in settings.items():
        if known.get(name) != value:
            raise UsageError(
                f"{printable(path)} was begun with {name} = {quoted(known.get(name))}, and now it is {quoted(value)}.",
                "Bounds hold for one set of settings: name another file to begin again.",
            )
    if any(later.number <= earlier.number for earlier, later in pairwise(results)):
        raise SavedFileError(f"{printable(path)} has epochs out of order.", "Restore it, or name a new file.")
    return marks, results


def _check_head(head: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> None:
    if head[HEAD] != FORMAT:
        raise UsageError("The file is of another version of warmstart.", "Name a new one.")
    if (len(lines), checksum(lines)) != (head["lines"], head["check"]):
        raise ValueError("its lines were changed")


def _line(parsed: Mapping[str, Any]) -> MonitorLine:
    policies = []
    for one in parsed["policies"]:
        estimate = EpochEstimate(**{part.name: one["estimate"][part.name] for part in fields(EpochEstimate)})
        if one["state"]:
            EpochState.from_dict(one["state"])
        policies.append(FollowedPolicy(one["name"], float(one["delta"]), one["since"], estimate, one["state"]))
    numbers = int(parsed["number"]), int(parsed["events"]), float(parsed["rewards"]), float(parsed["squares"])
    number, events, rewards, squares = numbers
    if events < 1 or not all(0 < one.delta < 1 for one in policies):
        raise ValueError("a number is out of its range")
    about = tuple(policies), tuple(map(str, parsed["missing"])), tuple(map(str, parsed["alarms"]))
    return MonitorLine(str(parsed["epoch"]), number, events, rewards, squares, *about)


def write_lines(
    path: Path,
    settings: Mapping[str, Any],
    marks: Mapping[str, str],
    lines: Sequence[MonitorLine],
    *,
    inputs: Iterable[Any] = (),
) -> None:
    """Write all lines, the old ones as they were, to a temporary name, and rename it."""
    written = [fields_of(line) for line in lines]
    head = {
        HEAD: FORMAT,
        "settings": dict(settings),
        "policies": dict(marks),
        "lines": len(written),
        "check": checksum(written),
    }
    texts = [json.dumps(part, allow_nan=False) for part in (head, *written)]
    with write_output(path, inputs=inputs) as temporary:
        temporary.write_text("\n".join(texts) + "\n", encoding="utf-8")


def checksum(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return what tells lines from others."""
    return hashlib.sha256(json.dumps(list(lines)).encode()).hexdigest()


def mark_of_policy(policy: NamedPolicy) -> str:
    """Return what tells a policy from another of the same name: its keyword, or a hash of what it chooses."""
    if policy.keyword is not None or policy.column is not None:
        return str(policy.source)
    if policy.is_asked:
        raise UsageError(
            f"The policy {quoted(policy.name)} is code, and nobody knows whether it chooses the same in every look.",
            "Write its choices to a file (ws.policy_table), or to a column of the log, and follow that.",
        )
    digest = hashlib.sha256()
    if policy.fitted is not None:
        _hash_table(digest, policy.fitted.decisions)
    elif isinstance(policy.source, Mapping):
        digest.update("\n".join(sorted(map(repr, policy.source.items()))).encode())
    elif isinstance(policy.source, str | Path):
        path = Path(policy.source)
        files = sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]
        for part in files:
            digest.update(part.read_bytes() if part.is_file() else str(part).encode())
    else:
        import pyarrow as pa

        source = policy.source
        _hash_table(digest, source if isinstance(source, pa.Table) else pa.table(source))
    return f"sha256:{digest.hexdigest()}"


def _hash_table(digest: Any, table: Any) -> None:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as writer:
        writer.write_table(table.replace_schema_metadata(None).combine_chunks())
    digest.update(sink.getvalue())
