"""Performance variables: their names, and the references that ReFrame gets, which must agree with the judge."""

import importlib
from types import SimpleNamespace

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import Reference, References

TESTCASE = "device_to_device_memcpy_write_ce"
variables, p2p = (importlib.import_module(f"linkmatrix_checks.{name}") for name in ("variables", "p2p"))


def tables(unit="GB/s", lower=-0.02, upper=0.02, **values):
    found = {name.replace("_to_", "->"): Reference(value, lower, upper, unit) for name, value in values.items()}
    return References({("hgx", TESTCASE): found})


@pytest.fixture
def figures(make_record):
    """(figures of a record, its matrix) with references."""

    def made(references=None, link_class="", **changes):
        record = make_record(**changes)
        if link_class:
            classes = record["results"][0]["link_class"]
            record["results"][0]["link_class"] = [
                [one and one.replace("NV18", link_class) for one in row] for row in classes
            ]
        (matrix,) = evaluate(record, references or References({}), "hgx" if references else None).matrices
        return variables.matrix_figures(matrix), matrix

    return made


def test_pairs_and_class_summaries_are_published(figures):
    found, _ = figures(count=2, off={(0, 1): 300.0})
    assert {name: figure.value for name, figure in found.items()} == {
        "min[NV18]": 300.0,
        "median[NV18]": 348.0,
        "max[NV18]": 396.0,
        "gpu0->gpu1": 300.0,
        "gpu1->gpu0": 396.0,
    }


def test_above_16_endpoints_only_summaries_are_published(figures):
    assert len(figures(count=16)[0]) == 16 * 15 + 3
    assert set(figures(count=17)[0]) == {"min[NV18]", "median[NV18]", "max[NV18]"}


def test_a_cell_without_a_value_is_not_published(figures):
    found, _ = figures(count=2, off={(0, 1): "timeout"})
    assert "gpu0->gpu1" not in found and "gpu1->gpu0" in found


def test_no_name_has_a_colon_by_which_reframe_loses_its_reference(figures):
    found, _ = figures(count=2, link_class="NET:rail1")
    assert "min[NET/rail1]" in found and not any(":" in name for name in found)


@pytest.mark.parametrize(
    ("value", "outside"), [(396.0, False), (388.2, False), (387.9, True), (404.0, False), (440.0, False)]
)
def test_a_bandwidth_has_a_lower_limit_only(figures, value, outside):
    found, matrix = figures(tables(gpu0_to_gpu1=396.0), count=2, off={(0, 1): value})
    assert found["gpu0->gpu1"].outside is outside
    assert outside is (matrix.cells["gpu0", "gpu1"].verdict is Verdict.FAIL)
    assert found["gpu0->gpu1"].tolerances == (396.0, -0.02, None, "GB/s")
    assert found["gpu1->gpu0"].reference is None


def test_a_latency_has_an_upper_limit_only():
    known = Reference(2.0, -0.2, 0.2, "us")
    assert [variables.Figure(value, "us", known, True).outside for value in (1.0, 2.39, 2.41)] == [False, False, True]
    assert variables.Figure(2.0, "us", known, True).tolerances == (2.0, None, 0.2, "us")


def test_a_summary_has_a_reference_and_no_limit_as_the_judge_compares_cells(figures):
    references = References({("hgx", TESTCASE): {"cell[NV18]": Reference(396.0, -0.02, 0.02, "GB/s")}})
    found, _ = figures(references, count=2, off={(0, 1): 300.0})
    assert found["min[NV18]"].tolerances == (396.0, None, None, "GB/s") and not found["min[NV18]"].outside
    assert found["gpu0->gpu1"].outside


def test_a_cell_that_the_judge_does_not_fail_has_no_limit(figures, make_record):
    """A DISTURBED cell beside one that FAILs: ReFrame shows the FAIL alone."""
    cell = type("cell", (), {"value": 300.0, "reference": Reference(396.0, -0.02, 0.02, "GB/s")})()
    for verdict, outside in ((Verdict.FAIL, True), (Verdict.DISTURBED, False), (Verdict.NOT_JUDGED, False)):
        cell.verdict = verdict
        assert variables.cell_figure(cell, "GB/s").outside is outside


def test_reframe_expects_a_waived_cell_to_fail_until_the_last_day(figures):
    def expected(day, **changes):
        waived = Reference(396.0, -0.02, 0.02, "GB/s", f"ticket 4711 until {day}")
        return figures(References({("hgx", TESTCASE): {"gpu0->gpu1": waived}}), count=2, **changes)[0]["gpu0->gpu1"]

    found = expected("9999-12-31", off={(0, 1): 300.0}).tolerances
    assert (found.message, found.data) == ("ticket 4711 until 9999-12-31", (396.0, -0.02, None, "GB/s"))
    assert expected("2026-01-01", off={(0, 1): 300.0}).tolerances == (396.0, -0.02, None, "GB/s")


@pytest.mark.parametrize(
    ("verdict", "reference"),
    [
        (Verdict.PASS, {"min[NV18]": (0, None, None, "us"), "gpu0->gpu1": (2.0, None, 0.2, "us")}),
        (Verdict.NOT_JUDGED, {"gpu0->gpu1": (2.0, None, 0.2, "us")}),
    ],
)
def test_acceptance_requires_no_reference_that_the_judge_does_not_require(verdict, reference):
    """With `require_reference`, ReFrame fails a variable without one. A visibility test passes without references."""
    known = variables.Figure(2.0, "us", Reference(2.0, -0.2, 0.2, "us"), limited=True)
    test = SimpleNamespace(
        published={"min[NV18]": variables.Figure(1.4, "us"), "gpu0->gpu1": known},
        verdict=SimpleNamespace(verdict=verdict),
        current_partition=SimpleNamespace(fullname="hgx:gpu"),
        is_dry_run=lambda: False,
    )
    p2p.p2p_matrix_run.publish(test)
    assert test.perf_variables.keys() == {"min[NV18]", "gpu0->gpu1"} and test.reference == {"hgx:gpu": reference}
