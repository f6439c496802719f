"""``python -m studies.pages``: the pages of the documentation, from a simulated month, and pictures of them."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import warmstart as ws

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
SHOWN = {"audit": ("light", 1280, 1480), "evaluate": ("dark", 390, 1500)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        world = ws.simulate("month", events=300_000, n_contexts=5_000, n_actions=800, seed=1)
        events = ws.read_events("month/events.parquet", **NAMES)
        ws.save_report(ws.audit(events), "audit.html")
        train, test = events.split(fraction=0.65)
        policies = {
            "learned": ws.fit(train, contexts=world.contexts_path, actions=world.actions_path),
            "uniform": "uniform",
            "logging": "logging",
        }
        found = ws.evaluate(policies, test, train=train, tau=[0.01, 0.02, 0.05, 0.1], contributions=10)
        ws.save_report(found, "evaluate.html")
        draw(Path(folder))


def draw(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (scheme, width, height) in SHOWN.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto((folder / f"{name}.html").as_uri())
            page.wait_for_selector("body[data-drawn]")
            page.screenshot(path=FIGURES / f"{name}-page.png")
        browser.close()


if __name__ == "__main__":
    main()
