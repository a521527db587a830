"""The table of worst cells, and what they were in the runs before."""

import json
import re

import pytest
from apart_records import apart, judged, nodes_of

from linkmatrix.references.tables import References
from linkmatrix.runs import judging, stored
from linkmatrix.runs.series import EarlierValues
from linkmatrix.show import page, page_matrix
from linkmatrix.show.analysis import Analysis


def rows(found, history=lambda pair: []):
    _, judged = found
    return page_matrix.worst_table(*judged[0].matrices[0], history)


def test_a_failed_cell_has_its_reference_limit_interval_and_samples(judged_run, make_record):
    record = make_record(off={(0, 1): 356.4})
    record["results"][0]["low"][0][1], record["results"][0]["high"][0][1] = 355.0, 357.5
    (row,) = rows(judged_run(record, reference="hgx"))
    assert (row["word"], row["source"], row["destination"], row["group"]) == ("FAIL", "gpu0", "gpu1", "NV18")
    assert (row["value"], row["expected"], row["of"], row["off"]) == ("356.40", "396.00", "reference", "-10.0")
    assert (row["interval"], row["allowed"], row["samples"]) == ("355.00 to 357.50", "388.08", "7")


def test_without_references_a_cell_is_held_against_its_class_and_has_no_limit(judged_run, make_record):
    (row,) = rows(judged_run(make_record(off={(0, 1): 356.4})))
    assert (row["expected"], row["of"], row["allowed"]) == ("396.00", "median", "–")


def test_the_worst_stands_first_and_what_is_as_it_should_be_is_not_listed(judged_run, make_record):
    found = judged_run(make_record(off={(0, 1): 380.0, (1, 0): 300.0, (2, 3): "timeout"}), reference="hgx")
    assert [(row["source"], row["value"]) for row in rows(found)] == [
        ("gpu1", "300.00"),
        ("gpu0", "380.00"),
        ("gpu2", "timeout"),
    ]
    assert rows(judged_run(make_record(), reference="hgx")) == []
    assert rows(judged_run(make_record())) == []


def test_a_large_matrix_lists_no_more_than_a_person_reads(judged_run, make_record):
    slow = {(row, column): 300.0 for row in range(2) for column in range(20) if row != column}
    assert len(rows(judged_run(make_record(count=20, off=slow)))) == page_matrix.MAX_WORST


def test_a_matrix_that_is_not_held_lists_cells_of_what_was_looked_at_closely(nothing_is_held, make_record, tmp_path):
    path = apart(nodes_of(make_record, lambda a, b: 0.3 if (a, b) == (3, 5) else 0.0), tmp_path / "run")
    one, matrix = judged(path)
    first = page_matrix.worst_table(one.matrices[0][0], matrix, lambda pair: [])[0]
    assert (first["source"], first["destination"], first["word"]) == ("gpu3", "gpu5", "FAIL")


@pytest.fixture
def reports(machine, make_record, reference_folder):
    """Writes a report of one test for each value of gpu0->gpu1, a day after the other; returns the paths."""

    def write(*values, **changes):
        paths = []
        for day, value in enumerate(values):
            machine.prepare("pass", off={(0, 1): value}, **changes)
            report = json.loads((machine.folder / "prepared.json").read_text())
            place = machine.folder / "output" / f"0-{day + 1}" / "record.json"
            record = json.loads(place.read_text())
            record["started"] = f"2026-11-{10 + day}T01:50:22Z"
            place.write_text(json.dumps(record))
            report["session_info"]["time_start_unix"] = 1_800_000_000 + 86400 * day
            (machine.folder / "reports").mkdir(exist_ok=True)
            paths.append(machine.folder / "reports" / f"run-report-{day}.json")
            paths[-1].write_text(json.dumps(report))
        return paths

    return write


def of_report(path, references):
    run = stored.find(path)
    return run, judging.judge_all(run, References.load(references), None)


def test_runs_before_are_those_of_the_same_cell_and_older(reports, reference_folder):
    paths = reports(395.0, 394.0, 300.0, 393.0)
    run, judged = of_report(paths[2], reference_folder)
    earlier, (result, _) = EarlierValues(run), judged[0].matrices[0]
    assert earlier.values(judged[0].test, result, ("gpu0", "gpu1")) == [395.0, 394.0]
    assert earlier.values(judged[0].test, result, ("gpu0", "gpu9")) == []


def test_a_cell_of_the_same_name_on_another_node_is_another_cell(reports, reference_folder):
    paths = reports(395.0, 300.0)
    place = next((paths[0].parent.parent / "output" / "0-1").glob("record.json"))
    record = json.loads(place.read_text())
    for device in record["devices"]:
        device["node"] = device["place"]["node"] = "node002"
    place.write_text(json.dumps(record))
    run, judged = of_report(paths[1], reference_folder)
    assert EarlierValues(run).values(judged[0].test, judged[0].matrices[0][0], ("gpu0", "gpu1")) == []


def test_a_report_before_that_cannot_be_read_costs_no_page(reports, reference_folder):
    paths = reports(395.0, 394.0, 300.0)
    paths[1].write_text("{")
    run, judged = of_report(paths[2], reference_folder)
    assert EarlierValues(run).values(judged[0].test, judged[0].matrices[0][0], ("gpu0", "gpu1")) == [395.0]


def test_a_record_by_itself_has_no_runs_before(write_record, reference_folder):
    run, judged = of_report(write_record(off={(0, 1): 300.0}), reference_folder)
    assert EarlierValues(run).values(judged[0].test, judged[0].matrices[0][0], ("gpu0", "gpu1")) == []


def test_the_page_draws_what_the_worst_cells_were(reports, reference_folder):
    paths = reports(395.0, 394.0, 300.0)
    text = page.render(Analysis(*of_report(paths[2], reference_folder)), lambda *_: b"")
    (drawn,) = re.findall(r'<svg class="trend"[^>]*aria-label="([^"]*)"><polyline points="([^"]*)">', text)
    assert drawn[0] == "2 runs before: 395.00, 394.00" and len(drawn[1].split()) == 3
    heights = [float(point.split(",")[1]) for point in drawn[1].split()]
    assert heights[2] > heights[1] > heights[0]  # down the page is less


def test_noise_does_not_fill_the_height_of_a_picture():
    points = re.search(r'points="([^"]*)"', page_matrix.trend([395.0, 396.0, 397.0], 396.0, "GB/s"))[1]
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert max(heights) - min(heights) < page_matrix.HEIGHT / 10
