"""A real browser, and names that try to break out of a page."""

import re
import shutil

import pytest
from tests.conftest import need

from warmstart.report.page import Page, render

HOSTILE = {
    "x0": "<script>document.title='run'</script>",
    "x1": '"><img src=x onerror="document.title=\'run\'">',
    "x2": "'; alert(1); //",
    "x3": "\u202eright to left\u202c \u05d0\u05d1\u05d2",
    "x4": "long " * 2_000,
    "x5": "</table></script><h1 id=planted>planted</h1> {{ 7 * 7 }} \x1b[31m\x00",
    "x6": "datum.constructor.constructor(\"document.title='run'\")()",
}

# Every text that can be seen, with its colour and the one behind it.
INKS = """() => {
    const seen = [], words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (words.nextNode()) {
        const parent = words.currentNode.parentElement, text = words.currentNode.data.trim();
        if (!text || !parent.checkVisibility()) continue;
        const style = getComputedStyle(parent), ink = parent.closest('svg') ? style.fill : style.color;
        let back = parent;
        while (getComputedStyle(back).backgroundColor === 'rgba(0, 0, 0, 0)') back = back.parentElement;
        seen.push([text, ink, getComputedStyle(back).backgroundColor]);
    }
    return seen;
}"""


def drawn(chart):
    """The rows behind a chart that have a name each."""
    sets = [*chart.get("datasets", {}).values(), chart.get("data", {}).get("values", [])]
    return next(rows for rows in sets if rows and "what" in rows[0])


@pytest.fixture(scope="package")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    need("chromium", present=chromium is not None)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page opened with the network off; what it said, its policy's violations included, and what it asked for."""

    def __init__(self, browser, path, *, width=1280, scheme="light", scripts=True, **options):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            bypass_csp=False,
            java_script_enabled=scripts,
            **options,
        )
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.add_init_script(
            "document.addEventListener('securitypolicyviolation',"
            " event => console.error(`violates ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`))"
        )
        self.page.goto(path.as_uri())
        if scripts:
            self.page.wait_for_selector("body[data-drawn]", timeout=30_000)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def change(self, *, width=None, scheme=None):
        """Look at the same page in another width, across the 600 pixels of a small screen, or in another scheme."""
        self.page.evaluate("delete document.body.dataset.drawn")
        if width is not None:
            self.page.set_viewport_size({"width": width, "height": 900})
        else:
            self.page.emulate_media(color_scheme=scheme)
        self.page.wait_for_selector("body[data-drawn]", timeout=30_000)

    def inks(self):
        """Every text that can be seen: its words, its colour, and the colour behind it."""
        rgb = re.compile(r"\d+")
        return [
            (text, *(tuple(map(int, rgb.findall(colour))) for colour in colours))
            for text, *colours in self.page.evaluate(INKS)
        ]


def contrast(one, other):
    """The ratio of two colours' luminance, by WCAG 2."""
    luminance = []
    for colour in (one, other):
        parts = [part / 255 for part in colour]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        luminance.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    return (max(luminance) + 0.05) / (min(luminance) + 0.05)


def shown(folder, **parts):
    """A page made of these parts, in HTML."""
    made = {"title": "T", "source": "S", "cards": [], "sections": [], "glossary": []} | parts
    path = folder / "page.html"
    path.write_text(render(Page(**made)), encoding="utf-8")
    return path
