"""Formulas as MathML when the documentation is built: no script and no font is fetched (a hook of MkDocs).

A fence named ``math``, or dollar signs around backticks, hold LaTeX, which GitHub renders too. Only what the pages use
is known; anything else is an error, so that no page shows a formula half translated.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

FENCE = re.compile(r"^```math\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"\$<code>(.*?)</code>\$")
TOKEN = re.compile(r"\\text\{[^}]*\}|\\[a-zA-Z]+|\\[{},;|]|\d+(?:\.\d+)?|\S")
# HTML has a name for every sign; where LaTeX has another one, it stands behind the equals sign.
LETTERS = "alpha beta gamma delta epsilon lambda mu pi rho sigma tau phi omega ell infty=infin"
SIGNS = "le ge ne times cdot=sdot in mid to=rarr approx=ap ldots=hellip |=Vert {=lbrace }=rbrace"
LARGE = "sum prod"
FUNCTIONS = ("max", "min", "log", "exp", "arg", "Pr")
SPACES = {",": "0.17em", ";": "0.28em", "quad": "1em"}
ACCENTS = {"hat": "^", "bar": "&macr;", "tilde": "~"}
TAKES = {"frac": ("mfrac", 2), "sqrt": ("msqrt", 1)}
ABOVE_AND_BELOW = {f"\\{name}" for name in ("sum", "prod", "max", "min")}
LIMITS = {"_": "munder", "^": "mover", "_^": "munderover"}
SCRIPTS = {"_": "msub", "^": "msup", "_^": "msubsup"}


def named(names: str, tag: str) -> dict[str, str]:
    """Return an element for every name."""
    pairs = (name.partition("=") for name in names.split())
    return {latex: f"<{tag}>{html.unescape(f'&{entity or latex};')}</{tag}>" for latex, _, entity in pairs}


PLAIN = {
    **named(LETTERS, "mi"),
    **named(f"{SIGNS} {LARGE}", "mo"),
    **{name: f"<mi>{name}</mi>" for name in FUNCTIONS},
    **{name: f'<mspace width="{width}"/>' for name, width in SPACES.items()},
}


class Formula:
    """The LaTeX of one formula, read from left to right."""

    def __init__(self, latex: str) -> None:
        self.latex, self.tokens = latex, TOKEN.findall(latex)

    def mathml(self, *, block: bool) -> str:
        """Return the formula as an element."""
        body = "".join(self._items(""))
        kind = ' display="block"' if block else ""
        alt = html.escape(" ".join(self.latex.split()))
        return f'<math{kind} alttext="{alt}"><mrow>{body}</mrow></math>'

    def _items(self, end: str) -> Iterator[str]:
        """Yield elements up to a closing token."""
        while self.tokens and self.tokens[0] != end:
            yield self._with_scripts()
        if end:
            self._next()

    def _next(self) -> str:
        if not self.tokens:
            raise ValueError(f"Something is missing at the end of {self.latex!r}")
        return self.tokens.pop(0)

    def _with_scripts(self) -> str:
        first = self.tokens[0]
        base, scripts = self._one(), {}
        while self.tokens and self.tokens[0] in "_^":
            sign = self._next()
            scripts[sign] = self._one()
        if not scripts:
            return base
        name = (LIMITS if first in ABOVE_AND_BELOW else SCRIPTS)["".join(sorted(scripts, key="_^".index))]
        return f"<{name}>{base}{scripts.get('_', '')}{scripts.get('^', '')}</{name}>"

    def _one(self) -> str:
        """Return the next element: a group, a command with what it takes, a number, a letter or a sign."""
        first = self._next()
        if first == "{":
            return f"<mrow>{''.join(self._items('}'))}</mrow>"
        if first.startswith("\\"):
            return self._command(first[1:])
        if first[0].isdigit():
            return f"<mn>{first}</mn>"
        if first.isalpha():
            return f"<mi>{first}</mi>"
        # Only delimiters after \left and \right grow with what is between them.
        fixed = ' stretchy="false"' if first in "()[]|" else ""
        return f"<mo{fixed}>{html.escape(first) if first != '-' else html.unescape('&minus;')}</mo>"

    def _command(self, name: str) -> str:
        if name in PLAIN:
            return PLAIN[name]
        if name in ACCENTS:
            return f'<mover accent="true">{self._one()}<mo>{html.unescape(ACCENTS[name])}</mo></mover>'
        if name in TAKES:
            tag, parts = TAKES[name]
            return f"<{tag}>{''.join(self._one() for _ in range(parts))}</{tag}>"
        if name in {"left", "right"}:
            sign = self._next().removeprefix("\\")
            return f'<mo stretchy="true">{html.escape(sign)}</mo>'
        if name == "mathbb":
            _, letter, _ = (self._next() for _ in range(3))
            return f"<mi>{html.unescape(f'&{letter}opf;')}</mi>"
        if name.startswith("text{"):
            return f"<mtext>{html.escape(name[5:-1])}</mtext>"
        raise ValueError(f"\\{name} is not known, in {self.latex!r}")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the fences of a page."""
    return FENCE.sub(lambda fence: Formula(fence[1]).mathml(block=True), markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Replace formulas inside lines of a page."""
    return INLINE.sub(lambda code: Formula(html.unescape(code[1])).mathml(block=False), content)
