"""A page to look at and to send on: one file that fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core import UsageError, __version__, check_output, quoted, write_output
from warmstart.results import Audit, Evaluation, Monitor, Progressive

if TYPE_CHECKING:
    from warmstart.results import Selection, TextTable


@dataclass(frozen=True)
class Card:
    """A sentence at the top of the page, in a column or over all of them."""

    label: str
    text: str
    warning: bool = False
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """One finding: its title says it, a chart shows it, tables hold the numbers behind it."""

    title: str
    texts: Sequence[str] = ()
    chart: dict[str, Any] | None = None
    tables: Sequence[TextTable] = ()


@dataclass(frozen=True)
class Page:
    """What a page says, before it is HTML."""

    title: str
    source: str
    cards: Sequence[Card]
    sections: Sequence[Section]
    glossary: Sequence[tuple[str, str]]
    footer: str = ""


def save_report(
    result: Audit | Evaluation | Monitor | Progressive,
    path: str | Path,
    *,
    selection: Selection | None = None,
    force: bool = False,
) -> Path:
    """Write an audit, an evaluation, a monitor or a learning curve as a page of HTML, whole or not at all.

    Args:
        result: What to show.
        path: The page, which ends in .html. That of an earlier run is replaced.
        selection: What ``select`` said of an evaluation, to stand first.
        force: Replace any other file too.
    """
    from warmstart.report.audit_page import audit_page
    from warmstart.report.epoch_pages import monitor_page, progressive_page
    from warmstart.report.evaluation_page import evaluation_page

    out = Path(path)
    check_output(out, force=force)
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(
            f"A report is a page of HTML, and {quoted(out.name)} does not end in .html.",
            "Name it so; for JSON, write what to_json() returns, or pass --json.",
        )
    pages = {Audit: audit_page, Evaluation: evaluation_page, Monitor: monitor_page, Progressive: progressive_page}
    make: Any = pages.get(type(result))
    if make is None:
        raise UsageError(
            f"There is no page for a {quoted(type(result).__name__)}.", "Pass what audit or evaluate returned."
        )
    if selection is not None and not isinstance(result, Evaluation):
        raise UsageError("A selection is shown with the evaluation it was made from.", "Leave it out.")
    page = make(result) if selection is None else make(result, selection)
    with write_output(out, force=force) as temporary:
        temporary.write_text(render(page), encoding="utf-8")
    return out


def render(page: Page) -> str:
    """Turn a page into HTML; everything from the log is escaped, and the charts' library comes along."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("warmstart.report")
    jinja = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return jinja.get_template("page.html").render(page=page, library=_chart_library(), version=__version__)


@cache
def _chart_library() -> str:
    """Return the charts' JavaScript, bundled once for all pages: that takes a second."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")
