"""The parser of p2p_matrix's own tables: nothing that is cut, wrong or ambiguous becomes a matrix."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix import matrix as matrices
from linkmatrix import record
from linkmatrix.errors import BadInput
from linkmatrix.parse import PARSERS, cell, p2p_matrix, result_of

DATA = Path(__file__).parents[1] / "data"
FULL = (DATA / "h200x4_full.txt").read_text(encoding="utf-8")
ONE = (DATA / "h200x4_write_ce.txt").read_text(encoding="utf-8")


def rendered(grid, columns, unit="GB/s", end="\nResult: PASS\n"):
    """A table as the program prints it."""
    head = f"some_case: bandwidth ({unit}), 64 bytes, row = source, column = destination"
    lines = [f"{row}  {'  '.join(words)}" for row, words in grid]
    return "\n".join([head, "      " + "  ".join(columns), *lines, "min 1.00  median 1.00", end])


def test_every_table_of_a_real_run_is_read():
    tables = p2p_matrix(FULL)
    assert len({table.testcase for table in tables}) == 22
    assert sum(table.title == "one direction" for table in tables) == 5
    assert sum(table.title == "enqueue latency" for table in tables) == 5


def test_the_tables_say_what_the_record_of_the_same_run_says():
    results = {result["testcase"]: result for result in record.load(DATA / "h200x4_full.record.json")["results"]}
    for table in p2p_matrix(FULL):
        result = results[table.testcase]
        part = next((name for name, part in result["parts"].items() if part["title"] == table.title), None)
        facts = matrices.from_result(result, part)
        assert (table.rows, table.columns, table.unit) == (facts.rows, facts.columns, facts.unit)
        assert set(table.cells) == set(facts.cells)
        for pair, value in facts.numbers.items():
            assert table.cells[pair] == pytest.approx(value, abs=0.006)


def test_rows_are_sources_and_columns_destinations():
    (table,) = p2p_matrix(ONE)
    first_row = next(line for line in ONE.splitlines() if line.startswith("gpu0") and "396" in line or "395" in line)
    assert table.cells["gpu0", "gpu1"] == float(first_row.split()[2])
    assert ("gpu0", "gpu0") not in table.cells


def test_output_that_is_cut_anywhere_is_refused():
    for length in range(0, len(ONE)):
        with pytest.raises(BadInput):
            p2p_matrix(ONE[:length])


def test_a_lost_line_never_leaves_a_smaller_matrix_unnoticed():
    whole = p2p_matrix(ONE)[0]
    lines = ONE.splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if "bytes, row = source" in line)
    for lost in range(start, start + 6):
        try:
            tables = p2p_matrix("".join(lines[:lost] + lines[lost + 1 :]))
        except BadInput:
            continue
        assert not tables or tables[0].cells.keys() < whole.cells.keys(), "the caller sees which cells are missing"


@pytest.mark.parametrize("word", ["nan", "inf", "-1.00", "1e5", "1,234.00", "N/A", "0x10", "395.9GB/s"])
def test_what_is_no_number_is_refused(word):
    with pytest.raises(BadInput, match=r"line \d"):
        p2p_matrix(rendered([("gpu0", ["-", "1.00"]), ("gpu1", [word, "1.00"])], ["gpu0", "gpu1"]))


def test_a_ragged_row_is_refused():
    with pytest.raises(BadInput, match="columns"):
        p2p_matrix(rendered([("gpu0", ["-", "1.00"]), ("gpu1", ["1.00"])], ["gpu0", "gpu1"]))


@pytest.mark.parametrize("unit", ["MB/s", "GiB/s", "ms", ""])
def test_an_unknown_unit_is_refused(unit):
    with pytest.raises(BadInput):
        p2p_matrix(rendered([("gpu0", ["1.00"])], ["gpu0"], unit=unit))


def test_a_table_that_comes_twice_is_refused():
    table = rendered([("gpu0", ["1.00"])], ["gpu0"], end="")
    with pytest.raises(BadInput, match="twice"):
        p2p_matrix(table + table + "\nResult: PASS\n")


def test_a_label_that_comes_twice_is_refused():
    with pytest.raises(BadInput, match="twice"):
        p2p_matrix(rendered([("gpu0", ["-", "1.00"]), ("gpu0", ["1.00", "-"])], ["gpu0", "gpu1"]))


def test_a_table_of_which_not_all_was_printed_is_refused():
    shortened = "(first 1 of 2 rows and columns shown; the record has all)"
    text = rendered([("gpu0", ["1.00"])], ["gpu0"]).replace("min 1.00  median 1.00", shortened)
    with pytest.raises(BadInput, match="max-display"):
        p2p_matrix(text)


def test_status_words_stay_words():
    text = rendered(
        [("gpu0", ["-", "timeout"]), ("gpu1", ["corrupt", "-"])], ["gpu0", "gpu1"], end="\nResult: TIMEOUT\n"
    )
    assert p2p_matrix(text)[0].cells == {("gpu0", "gpu1"): "timeout", ("gpu1", "gpu0"): "corrupt"}
    assert result_of(text) == "TIMEOUT"


@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 9),
    data=st.data(),
    unit=st.sampled_from(["GB/s", "us"]),
)
def test_what_is_printed_is_what_is_read(rows, columns, data, unit):
    words = st.one_of(
        st.decimals(0, 1000000, places=2 if unit == "GB/s" else 3).map(str),
        st.sampled_from(["-", "timeout", "error", "no-peer-access", "not-run"]),
    )
    labels = [f"gpu{index}" for index in range(columns)]
    grid = [(f"cpu{r}", [data.draw(words) for _ in range(columns)]) for r in range(rows)]
    (table,) = p2p_matrix(rendered(grid, labels, unit=unit))
    wanted = {
        (grid[r][0], labels[c]): cell(grid[r][1][c])
        for r, c in product(range(rows), range(columns))
        if grid[r][1][c] != "-"
    }
    assert dict(table.cells) == wanted
    assert (table.unit, table.size_bytes) == (unit, 64)


def test_parsers_are_rows_of_one_table():
    assert PARSERS["p2p_matrix"] is p2p_matrix
