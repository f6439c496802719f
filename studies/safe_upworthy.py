"""``python -m studies.safe_upworthy``: safe policies on months of real clicks whose truth is known (Upworthy archive).

The months of ``benchmarks.upworthy``: pages whose headlines were shown at random, and a hidden logger that is
deterministic within a day. The library's functions work on the sums of the first days and of the last. Counted are
months in which a policy departs from logging and earns less, by the archive's own click rates, on the traffic that was
to prove it. Results are kept in a file, line by line, and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from benchmarks.records import Rows
from benchmarks.upworthy import DAYS, FIRST_DAY, MICROSECONDS, Archive, draw, read_archive
from numpy.typing import NDArray

from studies.best_estimate import publish
from warmstart.estimators import CellSums, Proposal, improve, propose, prove
from warmstart.reward import Examples, shrunk_rates

TAU, DELTA, PROOF = 0.02, 0.05, 0.5
Floats = NDArray[np.float64]


def cells(ads: NDArray[np.int64], clicks: Floats, archive: Archive, *, leaning: bool = True) -> tuple[CellSums, Floats]:
    """Return the cells of events, and their expected rewards."""
    n, rewards = (np.bincount(ads, weights, len(archive.page)) for weights in (None, clicks))
    seen = np.flatnonzero(n)
    x, a = archive.page[seen], seen
    total = np.bincount(archive.page, n)[x]
    examples = Examples(x, a, n[seen].astype(float), rewards[seen], rewards[seen], total.astype(float))
    return CellSums(x, a, examples.n, rewards[seen]), shrunk_rates(examples, leaning=leaning)


def gain(proposal: Proposal | None, sums: CellSums, archive: Archive) -> float:
    """Return the true gain on some traffic, in clicks per 1,000 events."""
    if proposal is None or not len(proposal.contexts):
        return 0.0
    size = len(archive.page)
    logging = sums.by_context(sums.n * archive.rates[sums.actions], size)[proposal.contexts]
    events = sums.by_context(sums.n, size)[proposal.contexts]
    return float((events * archive.rates[proposal.actions] - logging).sum() / sums.n.sum() * 1_000)


def one_month(archive: Archive, pages: int, seed: int) -> dict[str, float]:
    """Return the true gain of every method, and the gain of the best."""
    log = draw(archive, pages, np.random.default_rng(seed))
    day = log["shown_at"].cast("int64").to_numpy() // MICROSECONDS - FIRST_DAY
    ads, clicks = log["ad"].to_numpy(), log["click"].to_numpy().astype(float)
    early = day < round(DAYS * (1 - PROOF))
    (a, of_a), (b, _), whole = (cells(ads[part], clicks[part], archive) for part in (early, ~early, early | ~early))
    bold, first = (
        propose(*cells(ads[part], clicks[part], archive, leaning=False), tau=TAU, caution=0.0)
        for part in (early | ~early, early)
    )
    tested = prove(a, b, first, tau=TAU, delta=DELTA)
    safe = improve(a, b, of_a, tau=TAU, delta=DELTA)
    best = propose(whole[0], archive.rates[whole[0].actions], tau=TAU, caution=0.0)
    found = {"argmax": (bold, whole[0]), "one test": (tested, b), "safe": (safe, b), "best": (best, whole[0])}
    return {name: gain(proposal, sums, archive) for name, (proposal, sums) in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--months", type=int, default=200)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--cached", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="keep the table in benchmarks/results")
    parser.add_argument("--out", type=Path, default=Path("safe-upworthy.jsonl"))
    options = parser.parse_args()
    lines = options.out.read_text().splitlines() if options.out.exists() else []
    found = [json.loads(line) for line in lines]
    archive = read_archive(options.cached)
    with options.out.open("a", encoding="utf-8") as file:
        for seed in range(len(found), options.months):
            found.append(one_month(archive, options.pages, seed))
            file.write(json.dumps(found[-1]) + "\n")
            file.flush()
    rows: Rows = {}
    for name in found[0]:
        gains = np.array([month[name] for month in found])
        below, departs = int((gains < 0).sum()), int((gains != 0).sum())
        rows[name] = {
            "gain per 1,000 events": float(gains.mean()),
            "months below logging": below,
            "departs in": departs,
        }
    settings = {"months": len(found), "pages": options.pages, "cached": options.cached}
    publish("safe-upworthy", rows, settings, record=options.record)


if __name__ == "__main__":
    main()
