"""``python -m benchmarks.upworthy``: the paper's table on real clicks.

Upworthy Research Archive (Matias, Munger, Le Quere, Ebersole 2021, doi 10.1038/s41597-021-00934-7), CC BY 4.0: headline
packages that were shown at random, so that clicks / impressions is the truth for every package. A hidden logger that is
deterministic within a day draws a month's log from these impressions, without replacement, real clicks included.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

import warmstart as ws
from benchmarks.measure import DATA
from benchmarks.records import Rows
from benchmarks.tables import publish

DAYS, TRAIN_DAYS = 30, 20
TAUS = (0.01, 0.05)
NAMES: dict[str, Any] = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
MICROSECONDS = 86_400_000_000
FIRST_DAY = 20_000


class Archive(NamedTuple):
    """Packages of tests that were randomised by impression: one entry a package, those of a test together."""

    page: NDArray[np.int64]
    impressions: NDArray[np.int64]
    clicks: NDArray[np.int64]
    headline: list[str]
    words: list[str]

    @property
    def rates(self) -> NDArray[np.float64]:
        return self.clicks / self.impressions


def read_archive(cached: int) -> Archive:
    rows = pq.read_table(DATA / "upworthy" / "packages.parquet")
    rows = rows.filter(pc.equal(rows["cache_period"], cached)).sort_by(
        [("test_id", "ascending"), ("package", "ascending")]
    )
    page = np.unique(np.array(rows["test_id"].to_pylist()), return_inverse=True)[1]
    words = [f"{a or ''} {b or ''}" for a, b in zip(rows["lede"].to_pylist(), rows["excerpt"].to_pylist(), strict=True)]
    numbers = (rows[name].to_numpy() for name in ("impressions", "clicks"))
    return Archive(page, *numbers, [text or "" for text in rows["headline"].to_pylist()], words)


def draw(archive: Archive, pages: int, rng: np.random.Generator) -> pa.Table:
    """Draw a month: some pages, a package a page and day, its impressions without replacement."""
    chosen = rng.choice(archive.page.max() + 1, pages, replace=False)
    parts = []
    left = {"impressions": archive.impressions.copy(), "clicks": archive.clicks.copy()}
    packages = [np.flatnonzero(archive.page == page) for page in chosen]
    liking = [rng.normal(size=len(ads)) for ads in packages]
    quota = [np.full(len(ads), max(10, -(-DAYS // len(ads)) + 2)) for ads in packages]
    traffic = [int(archive.impressions[ads].min() // (3 * most[0])) for ads, most in zip(packages, quota, strict=True)]
    for day in range(DAYS):
        for x, ads in enumerate(packages):
            liking[x] = 0.8 * liking[x] + 0.6 * rng.normal(size=len(ads))
            best = int(np.where(quota[x] > 0, liking[x], -np.inf).argmax())
            quota[x][best] -= 1
            ad, n = ads[best], traffic[x]
            hits = rng.hypergeometric(left["clicks"][ad], left["impressions"][ad] - left["clicks"][ad], n)
            left["impressions"][ad] -= n
            left["clicks"][ad] -= hits
            parts.append((day, archive.page[ad], ad, n, hits))
    day, page, ad, n, hits = (np.array(column) for column in zip(*parts, strict=True))
    place = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    moment = (FIRST_DAY + np.repeat(day, n)) * MICROSECONDS + place
    return pa.table(
        {
            "page": np.repeat(page, n),
            "ad": np.repeat(ad, n),
            "click": (place < np.repeat(hits, n)).astype(np.int8),
            "shown_at": pa.array(moment, pa.timestamp("us")),
        }
    )


def truth(archive: Archive, policy: pa.Table, log: pa.Table, tau: float | None) -> float:
    """Return what a policy earns by the archive's click rates on a log's traffic; with a tau, what an estimate sees."""
    cells = log.group_by(["page", "ad"]).aggregate([("click", "count")])
    traffic = log.group_by("page").aggregate([("click", "count")]).rename_columns(["page", "page_n"])
    rows = policy.join(traffic, "page").join(cells, ["page", "ad"])
    n = pc.fill_null(rows["click_count"], 0).to_numpy()
    h = rows["probability"].to_numpy() * rows["page_n"].to_numpy()
    seen = 1.0 if tau is None else np.minimum(1.0, n / rows["page_n"].to_numpy() / tau)
    return float((h * seen * archive.rates[rows["ad"].to_numpy()]).sum() / log.num_rows)


def one_draw(archive: Archive, folder: Path, pages: int, seed: int) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    log = draw(archive, pages, rng)
    events = ws.read_events(log, **NAMES)
    train, test = events.split(at=np.datetime64(FIRST_DAY + TRAIN_DAYS, "D").item())
    features = {"contexts": folder / "pages.parquet", "actions": folder / "ads.parquet"}
    learned = {
        name: ws.fit(train, **features, fit_tau=1.0, weight_bits=20, model=model)
        for name, model in (("learned", "product"), ("learned, auto", "auto"))
    }
    policies = {**learned, "uniform": "uniform", "logging": "logging"}
    later = log.filter(
        pc.greater_equal(log["shown_at"], pa.scalar((FIRST_DAY + TRAIN_DAYS) * MICROSECONDS, pa.timestamp("us")))
    )
    tables = {name: ws.policy_table({name: policy}, test, train=train) for name, policy in policies.items()}
    found = {}
    for e in ws.evaluate(policies, test, train=train, tau=TAUS):
        rows = tables[e.policy]
        should = truth(archive, rows, later, None if e.is_logging else e.tau)
        found[f"{e.policy}, tau {e.tau:g}"] = {
            "estimate": e.value,
            "should be": should,
            "on all": truth(archive, rows, later, None),
            "lower end missed": float(e.lower > should),
            "upper end missed": float(e.upper < should),
            "supported": e.support.supported,
            "gain over logging": e.gain.certified.difference or 0.0,
        }
    return found


def draws(archive: Archive, folder: Path, *, number: int, pages: int) -> Rows:
    ads = {"ad": np.arange(len(archive.page)), "headline": archive.headline}
    pq.write_table(pa.table(ads), folder / "ads.parquet")
    first = np.unique(archive.page, return_index=True)[1]
    texts = {"page": archive.page[first], "words": [archive.words[i] for i in first]}
    pq.write_table(pa.table(texts), folder / "pages.parquet")
    runs: dict[str, list[dict[str, float]]] = {}
    for seed in range(number):
        for name, row in one_draw(archive, folder, pages, seed).items():
            runs.setdefault(name, []).append(row)
        print(f"draw {seed + 1} of {number}", file=sys.stderr)
    rows: Rows = {}
    for name, drawn in runs.items():
        mean = {key: statistics.mean(row[key] for row in drawn) for key in drawn[0]}
        errors = [row["estimate"] - row["should be"] for row in drawn]
        rmse = statistics.mean(error**2 for error in errors) ** 0.5
        numbers = {
            **{key: mean[key] for key in ("estimate", "should be", "on all")},
            "bias": statistics.mean(errors) / mean["should be"],
            "RMSE": rmse / mean["should be"],
            **{key: mean[key] for key in ("lower end missed", "upper end missed", "supported", "gain over logging")},
        }
        rows[name] = {key: round(number, 6) for key, number in numbers.items()}
    return rows


def natural_experiment() -> Rows:
    """Tests behind a cache, and tests without one: what does the audit say, and does uniform differ from logging?"""
    rows: Rows = {}
    for name, cached in (("cache", 1), ("no cache", 0)):
        archive = read_archive(cached)
        ad = np.repeat(np.arange(len(archive.page)), archive.impressions)
        place = np.arange(len(ad)) - np.repeat(
            np.cumsum(archive.impressions) - archive.impressions, archive.impressions
        )
        click = place < np.repeat(archive.clicks, archive.impressions)
        log = pa.table({"page": archive.page[ad], "ad": ad, "click": click})
        events = ws.read_events(log, context="page", action="ad", reward="click")
        audit = ws.audit(events)
        gain = ws.evaluate("uniform", events, tau=0.01)["uniform"].gain.certified
        rows[name] = {
            "contexts": audit.log.contexts,
            "too uneven for a fair draw": round(audit.exploration.even.rejected, 4),
            "effective actions": round(audit.exploration.effective_actions, 3),
            "uniform - logging": round(gain.difference or 0.0, 7),
            "interval": [round(gain.lower or 0.0, 7), round(gain.upper or 0.0, 7)],
        }
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["months", "cache"])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    if "months" in options.what:
        with tempfile.TemporaryDirectory() as folder:
            rows = draws(read_archive(0), Path(folder), number=options.draws, pages=options.pages)
        publish("upworthy", rows, {"draws": options.draws, "pages": options.pages}, record=options.record)
    if "cache" in options.what:
        publish("upworthy-cache", natural_experiment(), {}, record=options.record)


if __name__ == "__main__":
    main()
