"""Counts of attacks, recorded row by row: each part alone, in any order, and again where it was cut off."""

import sys

from benchmarks.measure import ROOT
from benchmarks.tables import TABLES, grid, print_table

from benchmarks import records


def keep(name, rows, *, record, folder=records.RESULTS):
    """Print rows; where asked, put them in the place of earlier ones of their names, each with its commit."""
    print_table(TABLES[name].title, grid(TABLES[name], rows))
    if record:
        earlier = records.read(name, folder)
        known = earlier[-1]["rows"] if earlier else {}
        new = {one: {**row, "commit": records.commit()} for one, row in rows.items()}
        path = folder / f"{name}.json"
        path.unlink(missing_ok=True)
        records.append(name, {**known, **new}, {}, folder)
        sys.stdout.write(f"recorded in {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}\n")
    sys.stdout.flush()


def recorded(name, row, folder=records.RESULTS):
    """Return a row that was recorded at this commit, or None."""
    known = records.read(name, folder)
    found = known[-1]["rows"].get(row) if known else None
    return found if found and found.get("commit") == records.commit() else None
