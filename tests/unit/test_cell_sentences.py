"""The sentences about cells, word for word: users search logs for them."""

import pytest

from linkmatrix.judge import cell_sentences as sentences
from linkmatrix.judge.cell_sentences import Cell
from linkmatrix.references.tables import Reference

REFERENCE = Reference(396.0, -0.02, 0.05, "GB/s")
CELL = Cell(("gpu2", "gpu5"), "ok", 356.4, 350.0, 360.0, 450.0, "GB/s", 0.1, 0.05, REFERENCE, "hgx", "no data check")
OTHERS = "pid 9 ran"


@pytest.mark.parametrize(
    ("function", "fields", "sentence"),
    [
        ("no_reference", {}, "gpu2->gpu5 has no reference in the table 'hgx': adopt references again"),
        ("no_reference", {"table": ""}, "gpu2->gpu5 has no reference, and no data check"),
        ("no_table", {}, "gpu2->gpu5 has no reference"),
        ("other_unit", {"unit": "us"}, "gpu2->gpu5 is measured in us, but its reference is in GB/s"),
        ("impossible", {"value": 500.0}, "gpu2->gpu5 500.00 GB/s is more than its path can carry (450 GB/s)"),
        (
            "path_changed",
            {"adopted_class": "NV18", "link_class": "PIX"},
            "gpu2->gpu5 356.40 GB/s: path changed: NV18 -> PIX",
        ),
        (
            "path_unknown",
            {"adopted_class": "NV18"},
            "gpu2->gpu5 356.40 GB/s: path unknown, but the reference is for NV18",
        ),
        (
            "off_reference",
            {},
            "gpu2->gpu5 356.40 GB/s is 10.0 % under its reference 396.00 GB/s (allowed: 2.0 % under)",
        ),
        (
            "off_reference",
            {"value": 435.6},
            "gpu2->gpu5 435.60 GB/s is 10.0 % over its reference 396.00 GB/s (allowed: 5.0 % over)",
        ),
        (
            "disturbed",
            {"others": OTHERS},
            "gpu2->gpu5 356.40 GB/s is 10.0 % under its reference 396.00 GB/s (allowed: 2.0 % under): pid 9 ran",
        ),
        (
            "disturbed",
            {"others": OTHERS, "reference": None},
            "gpu2->gpu5 356.40 GB/s is 10.0 % worse than the median of its link class: pid 9 ran",
        ),
        ("disturbed", {"others": OTHERS, "slow": "2 slow", "reference": None}, "gpu2->gpu5: 2 slow: pid 9 ran"),
        (
            "disturbed",
            {"others": OTHERS, "slow": "2 slow", "value": REFERENCE.low_limit},
            "gpu2->gpu5: 2 slow: pid 9 ran",
        ),
        (
            "disturbed",
            {"others": OTHERS, "slow": "2 slow", "value": REFERENCE.high_limit},
            "gpu2->gpu5: 2 slow: pid 9 ran",
        ),
        (
            "disturbed",
            {"others": OTHERS, "slow": "2 slow"},
            "gpu2->gpu5 356.40 GB/s is 10.0 % under its reference 396.00 GB/s (allowed: 2.0 % under): pid 9 ran",
        ),
        ("intermittent", {"slow": "2 slow"}, "gpu2->gpu5 is intermittent: 2 slow"),
        (
            "may_be_intermittent",
            {"slow": "2 slow"},
            "gpu2->gpu5 may be intermittent: 2 slow; measure it with --short-samples 72",
        ),
        (
            "may_be_intermittent",
            {"slow": "2 slow short samples"},
            "gpu2->gpu5 may be intermittent: 2 slow short samples; measure it again while nothing else runs",
        ),
        (
            "better",
            {"value": 435.6},
            "gpu2->gpu5 435.60 GB/s is 10.0 % over its reference 396.00 GB/s (allowed: 5.0 % over): the reference is"
            " out of date: adopt references again",
        ),
        (
            "noisy",
            {"samples": 7},
            "gpu2->gpu5 is too noisy: the 98 % interval of its median, 350.00 GB/s to 360.00 GB/s, crosses the slowest"
            " allowed value",
        ),
        (
            "noisy",
            {},
            "gpu2->gpu5 is too noisy: the interval of its median, 350.00 GB/s to 360.00 GB/s, crosses the slowest"
            " allowed value",
        ),
        (
            "straggling",
            {},
            "gpu2->gpu5 356.40 GB/s: value / reference is 5.0 % worse than the median of its link class",
        ),
        (
            "partial_total",
            {},
            "gpu2->gpu5 was measured only partly, because an endpoint was lost: a partial total has no reference",
        ),
    ],
)
def test_the_sentence_about_a_cell(function, fields, sentence):
    assert getattr(sentences, function)(CELL._replace(**fields)) == sentence


def remeasured(count, outcome="not-reproduced", **more):
    """A result with remeasured cells, of which the first is reproduced."""
    one = {"row": "gpu0", "column": "gpu1", "before": 100.0, "after": 200.0}
    outcomes = ["reproduced", *[outcome] * (count - 1)]
    cells = [{**one, "outcome": each} for each in outcomes]
    return {"unit": "GB/s", "schedule": {"mode": "matrix"}, "remeasured": cells, **more}


def test_remeasured_cells_are_listed_with_those_that_were_not_reproduced_first():
    lines = sentences.remeasured_lines(remeasured(2))
    assert lines == [
        "gpu0->gpu1 was 100.00 GB/s, and 200.00 GB/s when measured again alone: not reproduced",
        "gpu0->gpu1 was 100.00 GB/s, and 200.00 GB/s when measured again alone: reproduced",
    ]
    assert sentences.remeasured_lines(remeasured(6))[5:] == ["and 1 more were measured again"]
    assert len(sentences.remeasured_lines(remeasured(5))) == 5


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("matrix", "again alone: slow in 2 of 4 measurements, so the second-worst value is used"),
        ("matchings", "again: slow in some measurements"),
    ],
)
def test_an_intermittent_cell_is_remeasured_alone_only_in_a_whole_matrix(mode, words):
    result = remeasured(2, "intermittent", schedule={"mode": mode})
    assert sentences.remeasured_lines(result)[0] == f"gpu0->gpu1 was 100.00 GB/s, and 200.00 GB/s when measured {words}"
    assert sentences.confirmation(result).endswith(f"{words.partition(':')[0]}, without control cells")


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (0, "unchanged"),
        (-1, "all faster alone"),
        (1, "all slower, so the result is inconclusive: measure again"),
    ],
)
def test_the_control_cells_are_listed_with_their_changes(change, verdict):
    controls = [{"row": "gpu0", "column": "gpu2", "before": 100.0, "after": 100.1}]
    result = remeasured(3, controls=controls, control_change=change)
    line = f"1 control cell: gpu0->gpu2 +0.1 %: {verdict}"
    assert sentences.controls(result) == sentences.remeasured_lines(result)[-1] == line
    assert sentences.confirmation(result) == f"reproduced: 1 of 3 outlying cells, measured again alone; {line}"


def test_without_control_cells_the_confirmation_tells():
    assert sentences.confirmation(remeasured(1)) == (
        "reproduced: 1 of 1 outlying cell, measured again alone, without control cells"
    )
    assert sentences.confirmation({"remeasured": []}) == ""
