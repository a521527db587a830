"""The parser of p2p_matrix's own tables: nothing that is cut, wrong or ambiguous becomes a matrix."""

import math
import re
import statistics
from decimal import Decimal
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix.errors import BadInput
from linkmatrix.record import matrix, reading
from linkmatrix.record.printed import NUMBER, PARSERS, cell, p2p_matrix, result_of
from linkmatrix.record.units import figure

DATA = Path(__file__).parents[1] / "data"
FULL = (DATA / "h200x4_full.txt").read_text(encoding="utf-8")
ONE = (DATA / "h200x4_write_ce.txt").read_text(encoding="utf-8")


def summary(grid):
    """The line under a table, of its numbers; none where it has none."""
    numbers = [Decimal(word) for _, words in grid for word in words if NUMBER.fullmatch(word)]
    if not numbers:
        return []
    middle = statistics.median(numbers)
    return [f"min {min(numbers)}  median {middle:.3f}  max {max(numbers)}  sum {sum(numbers)}"]


def rendered(grid, columns, unit="GB/s", end="\nResult: PASS\n", under=None):
    """A table as the program prints it, with the lines `under` it."""
    head = f"some_case: bandwidth ({unit}), 64 bytes, row = source, column = destination"
    lines = [f"{row}  {'  '.join(words)}" for row, words in grid]
    under = summary(grid) if under is None else under
    schedule = "1 round, 1 pair at once; interference not calibrated; 7 to 7 samples a cell; 0.1 s"
    return "\n".join([head, "      " + "  ".join(columns), *lines, *under, schedule, end])


def test_every_table_of_a_real_run_is_read():
    tables = p2p_matrix(FULL)
    assert len({table.testcase for table in tables}) == 60
    assert sum(table.title == "one direction" for table in tables) == 17
    assert sum(table.title == "enqueue latency" for table in tables) == 9
    assert sum(table.title == "slowest of its copies" for table in tables) == 8
    assert sum(table.unit == "%" for table in tables) == 4


def test_the_tables_say_what_the_record_of_the_same_run_says():
    measured = {result["testcase"]: result for result in reading.load(DATA / "h200x4_full.record.json")["results"]}
    for table in p2p_matrix(FULL):
        result = measured[table.testcase]
        part = next((name for name, part in result["parts"].items() if part["title"] == table.title), None)
        facts = matrix.from_result(result, part)
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


def test_output_that_is_cut_in_a_table_is_refused_though_its_last_line_is_there():
    head = ONE.index("column = destination", ONE.index("GB/s)")) + len("column = destination")
    for length in range(head, ONE.index("  sum ") + len("  sum ")):
        with pytest.raises(BadInput):
            p2p_matrix(ONE[:length] + "\n\nResult: PASS\n")
    for length in range(head):
        assert p2p_matrix(ONE[:length].rstrip("\n").rpartition("\n")[0] + "\n\nResult: PASS\n") == []


@pytest.mark.parametrize("text", [ONE, FULL], ids=["one", "full"])
def test_a_lost_row_is_refused_in_every_table(text):
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if "bytes, row = source" in line]
    assert heads
    for head in heads:
        row = head + 2
        while lines[row].startswith(("gpu", "numa", "local", "all ")):
            with pytest.raises(BadInput):
                p2p_matrix("".join(lines[:row] + lines[row + 1 :]))
            row += 1
        assert row > head + 2


def test_a_cell_that_changed_on_the_way_is_refused():
    number = re.search(r"gpu1 +- +(\d+\.\d+)|gpu1 +(\d+\.\d+)", ONE)[2]
    for other in (number.replace(".", "0."), number[1:], "0.01"):
        with pytest.raises(BadInput, match="does not fit its summary"):
            p2p_matrix(ONE.replace(number, other, 1))


@pytest.mark.parametrize("word", ["nan", "inf", "-1.00", "1e5", "1,234.00", "N/A", "0x10", "395.9GB/s"])
@pytest.mark.parametrize("at", [(row, column) for row in range(3) for column in range(3)], ids=str)
def test_what_is_no_number_is_refused_in_every_cell(word, at):
    labels = ["numa0", "numa1", "numa2"]
    grid = [
        (label, [word if (row, column) == at else "1.00" for column in range(3)]) for row, label in enumerate(labels)
    ]
    with pytest.raises(BadInput, match=r"line \d"):
        p2p_matrix(rendered(grid, ["gpu0", "gpu1", "gpu2"]))


@given(
    st.lists(st.floats(1e-6, 2000, allow_nan=False), min_size=4, max_size=4),
    st.sampled_from([("GB/s", 2), ("us", 3)]),
)
def test_small_values_keep_their_digits_and_fit_their_summary(values, unit):
    unit, decimals = unit
    shown = [figure(value, decimals) for value in values]
    for text, value in zip(shown, values, strict=True):
        assert float(text) == pytest.approx(value, rel=0.0051)
    under = [
        f"min {figure(min(values), decimals)}  median {figure(statistics.median(values), decimals)}"
        f"  max {figure(max(values), decimals)}  sum {figure(math.fsum(values), decimals)}"
    ]
    (table,) = p2p_matrix(rendered([("a", shown[:2]), ("b", shown[2:])], ["c", "d"], unit, under=under))
    assert list(table.numbers.values()) == [float(text) for text in shown]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0124, "0.0124"), (0.0061, "0.00610"), (0.84, "0.840"), (1.005, "1.00"), (396.123, "396.12"), (0, "0.00")],
)
def test_a_small_value_has_three_digits(value, text):
    assert figure(value, 2) == text


def test_what_another_program_prints_into_a_table_is_refused():
    first_row = next(line for line in ONE.splitlines(keepends=True) if line.startswith("gpu0  ") and "395" in line)
    with pytest.raises(BadInput, match="line"):
        p2p_matrix(ONE.replace(first_row, first_row + "WARNING: something happened\n"))


def test_a_table_of_numbers_without_its_summary_is_refused():
    with pytest.raises(BadInput, match="summary"):
        p2p_matrix(rendered([("gpu0", ["1.00"])], ["gpu0"], under=[]))


def test_the_summary_of_nothing_is_refused():
    with pytest.raises(BadInput, match="summary"):
        p2p_matrix(rendered([("gpu0", ["timeout"])], ["gpu0"], under=["min 1.00  median 1.00  max 1.00  sum 1.00"]))


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
    text = rendered([("gpu0", ["1.00"])], ["gpu0"], under=[shortened])
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


def test_the_same_test_case_may_come_in_several_sizes_and_shapes():
    head = "x: bandwidth (GB/s), {}, row = source, column = destination\n"
    table = head + "     b\na  4.00\nmin 4.00  median 4.00  max 4.00  sum 4.00\n"
    ways = ["64 bytes", "128 bytes", "64 bytes, offset 4", "64 bytes, 32 blocks, 256 threads", "64 bytes, pageable"]
    text = "\n".join(table.format(way) for way in ways) + "\nResult: PASS\n"
    assert [(found.size_bytes, found.variant) for found in p2p_matrix(text)] == [
        (64, ""),
        (128, ""),
        (64, ", offset 4"),
        (64, ", 32 blocks, 256 threads"),
        (64, ", pageable"),
    ]
    with pytest.raises(BadInput, match="comes twice"):
        p2p_matrix(table.format(ways[0]) + "\n" + text)
    with pytest.raises(BadInput, match="no head line"):
        p2p_matrix(text.replace("offset 4", "offset four"))


def test_only_a_percentage_may_be_below_zero():
    head = "x: bandwidth ({0}), 64 bytes, row = source, column = destination\n     b\na  4.00\n"
    part = head.replace("bandwidth", "loss").replace("4.00", "-4.00")
    table = head + "min 4.00  median 4.00  max 4.00  sum 4.00\n\n" + part + "\nResult: PASS\n"
    assert p2p_matrix(table.replace("{0}", "GB/s", 1).replace("{0}", "%"))[1].cells["a", "b"] == -4.0
    with pytest.raises(BadInput):
        p2p_matrix(table.format("GB/s"))
