"""The tables of the page on benchmarks are what the files of results say."""

import re

import pytest

from benchmarks import records, tables

PAGE = tables.PAGE.read_text()
PAGES = [PAGE, tables.RELIABILITY.read_text()]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_has_the_tables_of_the_files(page):
    assert tables.rewritten(page) == page, "run: python -m benchmarks.tables"


def test_every_table_of_the_page_is_a_marked_one():
    outside = tables.MARKED.sub("", PAGE)
    assert not re.findall(r"^\|", outside, flags=re.MULTILINE)
    assert {match["name"] for page in PAGES for match in tables.MARKED.finditer(page)} == set(tables.TABLES)


@pytest.mark.parametrize("path", sorted(records.RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_a_file_of_results_is_shown_and_written_as_we_write_it(path):
    assert path.stem in {table.file or name for name, table in tables.TABLES.items()}
    kept = records.read(path.stem)
    assert records.text(kept) == path.read_text()
    assert all(list(record) == ["commit", "date", "machine", "settings", "rows"] for record in kept)


def test_a_changed_figure_changes_the_page(tmp_path):
    page = "<!-- table: evaluate -->\n<!-- end -->\n"
    assert "Not recorded yet" in tables.rewritten(page, tmp_path)
    settings = {**tables.PAPER, "runs": 1}
    records.append("evaluate", {"whole log": {"time / floor": 1.5, "peak memory, MB": 2048}}, settings, tmp_path)
    first = tables.rewritten(page, tmp_path)
    assert "| whole log | 1.50 | 2.00 GB |" in first
    assert "54,000,000 events, 1 run;" in first
    records.append("evaluate", {"whole log": {"time / floor": 9.0}}, {"events": 5}, tmp_path)
    assert tables.rewritten(first, tmp_path) == first
    records.append("evaluate", {"whole log": {"time / floor": 1.75}}, settings, tmp_path)
    assert "| whole log | 1.75 |" in tables.rewritten(first, tmp_path)


def test_lines_measured_at_times_of_their_own_are_the_newest_of_each(tmp_path):
    page = "<!-- table: best-estimate -->\n<!-- end -->\n"
    for logs, rows in ((7, {"a": {"z": "old"}, "b": {"z": "kept"}}), (9, {"a": {"z": "new"}})):
        records.append("best-estimate", rows, {"logs": logs}, tmp_path)
    text = tables.rewritten(page, tmp_path)
    assert text.index("| a | new |") < text.index("| b | kept |")
    assert "old" not in text
    assert re.search(r"\*1 line: Commit .*, 9 logs; .*\. 1 line: Commit .*, 7 logs; .*\.\*", text)


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        (tables.decimal(3), -0.012, "-.012"),
        (tables.decimal(3, "+"), 0.034, "+.034"),
        (tables.percent(2, "+"), -0.0145, "-1.45 %"),
        (tables.ratio, 0.37, ".37"),
        (tables.ratio, 13.14, "13.1"),
        (tables.memory, 223, "223 MB"),
        (tables.BIAS_RMSE, [-0.038, 0.213], "-.038 .213"),
        (tables.ERRORS, [-0.004, 0.003, 0.001], "-0.4 %, +0.3 %, +0.1 %"),
        (tables.ratio, "as it is", "as it is"),
        (tables.ratio, None, ""),
    ],
)
def test_numbers_read_as_in_print(form, value, text):
    assert tables.cell(value, form) == text
