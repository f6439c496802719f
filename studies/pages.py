"""``python -m studies.pages``: a page of every kind, from a simulated month, and pictures of their first screens."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import warmstart as ws

FIGURES = Path(__file__).parents[1] / "docs" / "figures" / "pages"
NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
SCREENS = {"wide": (1280, 1000), "narrow": (390, 844)}


def write_pages() -> list[str]:
    """Write one page of every kind into the current folder; return their names."""
    world = ws.simulate("month", events=300_000, n_contexts=5_000, n_actions=800, seed=1)
    events = ws.read_events("month/events.parquet", **NAMES)
    train, test = events.split(fraction=0.65)
    learned = ws.fit(train, contexts=world.contexts_path, actions=world.actions_path, model="auto")
    policies = {"learned": learned, "uniform": "uniform", "logging": "logging"}
    evaluated = ws.evaluate(policies, test, train=train, tau=[0.02, 0.05, 0.1], contributions=10)
    pages = {
        "audit": ws.audit(events),
        "fit": learned,
        "join": _joined(),
        "monitor": ws.monitor(["constant:ad 2", "uniform"], _explored(), "monitor.jsonl"),
        "plan": ws.plan({"learned": learned}, test, gain="5%"),
    }
    for name, result in pages.items():
        ws.save_report(result, f"{name}.html")
    ws.save_report(evaluated, "evaluate.html", selection=ws.select(evaluated))
    return [*pages, "evaluate"]


def _explored() -> ws.Events:
    """Thirty days in which a tenth of the traffic is shown any of three ads, the second of which earns most."""
    rng, n = np.random.default_rng(0), 60_000
    ad = np.where(rng.random(n) < 0.1, rng.integers(1, 4, n), 1)
    click = (rng.random(n) < np.array([0.05, 0.08, 0.04])[ad - 1]).astype(float)
    at = np.datetime64("2026-10-01T00:00:00") + np.sort(rng.integers(0, 30 * 86_400, n)).astype("timedelta64[s]")
    log = {"page": rng.integers(0, 4, n), "ad": np.char.add("ad ", ad.astype(str)), "click": click, "shown_at": at}
    return ws.read_events(pa.table(log), **NAMES, epoch="day")


def _joined() -> ws.Joined:
    """Join shown ads with clicks that came up to two days later, some of them of no ad."""
    rng, n = np.random.default_rng(0), 20_000
    start = np.datetime64("2026-10-01T00:00:00")
    shown = start + rng.integers(0, 30 * 86_400, n).astype("timedelta64[s]")
    shows = {"request": np.arange(n), "page": rng.integers(0, 50, n), "ad": rng.integers(0, 9, n), "shown_at": shown}
    clicked = rng.random(n) < 0.05
    later = rng.exponential(7_200, n).astype(int).astype("timedelta64[s]")
    clicks = {"request": np.arange(n)[clicked] + (rng.random(clicked.sum()) < 0.02) * n}
    pq.write_table(pa.table(shows), "shows.parquet")
    pq.write_table(pa.table({**clicks, "clicked_at": (shown + later)[clicked]}), "clicks.parquet")
    times = {"impression_time": "shown_at", "outcome_time": "clicked_at", "window": "2h"}
    return ws.join("shows.parquet", "clicks.parquet", "joined.parquet", on="request", **times)


def draw(folder: Path, names: list[str]) -> None:
    """Take pictures of the first screens, wide and narrow, light and dark."""
    from playwright.sync_api import sync_playwright

    FIGURES.mkdir(exist_ok=True)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for screen, (width, height) in SCREENS.items():
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                for name in names:
                    page.goto((folder / f"{name}.html").as_uri())
                    page.wait_for_selector("body[data-drawn]")
                    page.screenshot(path=FIGURES / f"{name}-{screen}-{scheme}.png")
                page.close()
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        draw(Path(folder), write_pages())


if __name__ == "__main__":
    main()
