"""A page to look at and to send on: one file that fetches nothing."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core import UsageError, __version__, check_output, quoted, write_output
from warmstart.results import Audit, Evaluation, Joined, Learned, Monitor, Plan, Progressive, select

if TYPE_CHECKING:
    from markupsafe import Markup

    from warmstart.policy import FittedPolicy
    from warmstart.results import Evidence, Kind, Selection, TextTable

WHOLE = re.compile(r"(?<![\w-])--[a-z][a-z-]*|\b\d{4}-\d\d-\d\d\b")


@dataclass(frozen=True)
class Headline:
    """The answer, above everything else: in words, in a colour by its kind, and with the evidence it rests on.

    ``forbidden``: it is not to be used although the kind is good, because a guard is not proven to hold. ``label``:
    what to say of the kind where no policy is compared with logging, and only a colour is needed.
    """

    kind: Kind
    evidence: Evidence | None
    title: str
    texts: Sequence[str] = ()
    forbidden: bool = False
    label: str = ""


@dataclass(frozen=True)
class Card:
    """A sentence at the top of the page, in a column or over all of them."""

    label: str
    text: str
    warning: bool = False
    wide: bool = False


@dataclass(frozen=True)
class Step:
    """What a section shows at one place of its slider, such as one tau, which its title names."""

    title: str
    texts: Sequence[str] = ()
    chart: dict[str, Any] | None = None
    tables: Sequence[TextTable] = ()


@dataclass(frozen=True)
class Section(Step):
    """One finding: its title says it, a chart shows it, tables hold the numbers behind it.

    Args:
        title: The finding, in words.
        texts: Paragraphs above the chart.
        chart: A Vega-Lite specification. Without tables, its data become the table behind it.
        tables: The numbers, folded away where there is a chart.
        explained: Words with one sentence each, right under the chart or the table.
        steps: What a slider moves through, all of it in the page; without scripts and on paper, all tables are shown.
            Give the charts of all steps the same scales, so that they can be compared.
        slider: What the slider moves, such as 'tau'.
        start: The step that is shown first.
        exploratory: Why the numbers of several steps are not to be taken for one finding; marked as exploratory.
        plot: What ``result.plot`` calls the chart.
    """

    explained: Sequence[tuple[str, str]] = ()
    steps: Sequence[Step] = ()
    slider: str = ""
    start: int = 0
    exploratory: str = ""
    plot: str = ""


@dataclass(frozen=True)
class Page:
    """What a page says, before it is HTML."""

    title: str
    source: str
    cards: Sequence[Card]
    sections: Sequence[Section]
    glossary: Sequence[tuple[str, str]]
    footer: str = ""
    headline: Headline | None = None


def save_report(
    result: Audit | Evaluation | FittedPolicy | Joined | Learned | Monitor | Plan | Progressive,
    path: str | Path,
    *,
    selection: Selection | None = None,
    force: bool = False,
) -> Path:
    """Write an audit, an evaluation, a join, a learned policy, a monitor, a plan or a learning curve as a page of HTML.

    Args:
        result: What to show.
        path: The page, which ends in .html. That of an earlier run is replaced.
        selection: What ``select`` said of an evaluation, to stand first.
        force: Replace any other file too.
    """
    out = Path(path)
    check_output(out, force=force)
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(
            f"A report is a page of HTML, and {quoted(out.name)} does not end in .html.",
            "Name it so; for JSON, write what to_json() returns, or pass --json.",
        )
    page = page_of(result, selection)
    with write_output(out, force=force) as temporary:
        temporary.write_text(render(page), encoding="utf-8")
    return out


def page_of(result: object, selection: Selection | None = None) -> Page:
    """Return what the page of a result says, before it is HTML."""
    from warmstart.policy import FittedPolicy
    from warmstart.report.audit_page import audit_page
    from warmstart.report.epoch_pages import monitor_page, progressive_page
    from warmstart.report.evaluation_page import evaluation_page
    from warmstart.report.fit_page import fit_page
    from warmstart.report.join_page import join_page
    from warmstart.report.plan_page import plan_page

    pages: dict[type, Any] = {
        Audit: audit_page,
        Evaluation: evaluation_page,
        Monitor: monitor_page,
        Plan: plan_page,
        Progressive: progressive_page,
        Joined: join_page,
        Learned: fit_page,
        FittedPolicy: fit_page,
    }
    make: Any = pages.get(type(result))
    if make is None:
        raise UsageError(
            f"There is no page for a {quoted(type(result).__name__)}.",
            "Pass what audit, evaluate, fit, join, monitor or plan returned.",
        )
    if selection is None and isinstance(result, Evaluation) and result.with_selection:
        selection = select(result)
    if selection is not None and not isinstance(result, Evaluation):
        raise UsageError("A selection is shown with the evaluation it was made from.", "Leave it out.")
    page: Page = make(result) if selection is None else make(result, selection)
    return page


def render(page: Page) -> str:
    """Turn a page into HTML; everything from the log is escaped, and the charts' library comes along."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from warmstart.report.charts import numbers

    loader = PackageLoader("warmstart.report")
    jinja = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    jinja.filters |= {"rounded": rounded, "typeset": typeset}
    library = _chart_library()
    style, script = (loader.get_source(jinja, name)[0] for name in ("page.css", "page.js"))
    scripts = f"script-src {_hashed(script)} {_hashed(library)}"
    policy = f"default-src 'none'; {scripts}; style-src {_hashed(style)}; img-src data:"
    given = {"style": style, "script": script, "library": library, "policy": policy, "version": __version__}
    return jinja.get_template("page.html").render(page=page, numbers=numbers, **given)


def typeset(text: str) -> Markup:
    """Return a text as HTML in which a number stays with its percent sign, and options and dates are not broken.

    >>> typeset("with --policy <of> 5 %").replace(chr(160), "_")
    Markup('with <span class="whole">--policy</span> &lt;of&gt; 5_%')
    """
    from markupsafe import Markup, escape

    together = str(escape(text)).replace(" %", "\u00a0%")
    return Markup(WHOLE.sub(r'<span class="whole">\g<0></span>', together))  # noqa: S704  escaped above


def rounded(drawn: Any) -> Any:
    """Return what is drawn with numbers of six digits, which are more than can be seen: pages stay small.

    >>> rounded({"values": [{"gain": 0.123456789}]})
    {'values': [{'gain': 0.123457}]}
    """
    if isinstance(drawn, float):
        return float(f"{drawn:.6g}")
    if isinstance(drawn, dict):
        return {name: rounded(part) for name, part in drawn.items()}
    return [rounded(part) for part in drawn] if isinstance(drawn, list) else drawn


def _hashed(text: str) -> str:
    """Name a script or a style sheet in a content security policy, by its content."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _chart_library() -> str:
    """Return the charts' JavaScript, with names of its own, bundled once for all pages: that takes a second."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return "(() => {" + bundle.replace("</script", "<\\/script") + "})();"
