"""Formulas of the documentation: LaTeX becomes MathML, or is refused."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from scripts.mathml import FENCE, Formula, on_page_content, on_page_markdown

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "methods.md"


def tags(latex):
    """The elements of a formula as one line: tag(text or children)."""

    def of(element):
        inner = element.text or ",".join(of(child) for child in element)
        return f"{element.tag[1:]}({inner})"

    return of(ET.fromstring(Formula(latex).mathml(block=True))[0])


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("x_{ab}^2", "row(subsup(i(x),row(i(a),i(b)),n(2)))"),
        (r"\frac{1}{\tau}", "row(frac(row(n(1)),row(i(τ))))"),
        (r"\sum_{i=1}^T c_i", "row(underover(o(∑),row(i(i),o(=),n(1)),i(T)),sub(i(c),i(i)))"),
        (r"\hat p \le 0.05", "row(over(i(p),o(^)),o(≤),n(0.05))"),
        (r"\max\left(1, -x\right)", "row(i(max),o((),n(1),o(,),o(\u2212),i(x),o()))"),
        (r"\text{else} \; \mathbb{E}", "row(text(else),space(),i(\U0001d53c))"),
    ],
)
def test_latex_becomes_mathml(latex, expected):
    assert tags(latex) == expected


@pytest.mark.parametrize("latex", [r"\nothing", r"\frac{1}", "{x"])
def test_what_is_not_known_is_refused(latex):
    with pytest.raises(ValueError, match=r"nothing is not known|is missing"):
        Formula(latex).mathml(block=True)


def test_a_page_has_its_formulas_in_fences_and_in_lines():
    page = on_page_markdown("a\n\n```math\nx < y\n```\n\nb")
    assert re.fullmatch(r'a\n\n<math display="block" alttext="x &lt; y">.*</math>\n\nb', page)
    assert on_page_content("<p>With $<code>n_x</code>$.</p>") == f"<p>With {Formula('n_x').mathml(block=False)}.</p>"


def test_every_formula_of_the_methods_is_well_formed():
    text = PAGE.read_text()
    blocks, lines = FENCE.findall(text), re.findall(r"\$`(.*?)`\$", text)
    assert len(blocks) >= 12
    assert len(lines) >= 20
    for latex in [*blocks, *lines]:
        ET.fromstring(Formula(latex).mathml(block=True))
