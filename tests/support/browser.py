"""A real browser, and names that try to break out of a page."""

import shutil

import pytest
from tests.conftest import need

HOSTILE = {
    "x0": "<script>document.title='run'</script>",
    "x1": '"><img src=x onerror="document.title=\'run\'">',
    "x2": "'; alert(1); //",
    "x3": "\u202eright to left\u202c \u05d0\u05d1\u05d2",
    "x4": "long " * 2_000,
    "x5": "</table></script><h1 id=planted>planted</h1> {{ 7 * 7 }} \x1b[31m\x00",
}


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    need("chromium", present=chromium is not None)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page opened with the network off; what it said and what it asked for."""

    def __init__(self, browser, path, *, width=1280, scheme="light"):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, bypass_csp=False
        )
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("body[data-drawn]", timeout=30_000)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()
