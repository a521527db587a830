"""The least tolerances, and components that are slow by less than their references allow."""

import copy

import faults
import numpy as np
import pytest
from fabric import TESTCASE, Fabric, Machine, record_of

from linkmatrix.commands.diagnose import diagnosis_lines
from linkmatrix.judge.evaluate import Evaluation, evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading
from linkmatrix.references import noise
from linkmatrix.references.noise import DataPath, Floor
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import judging, suspects, testcases
from linkmatrix.show import machine
from linkmatrix.show.analysis import Analysis

ALLOWED = "within their tolerances, but slower by more than the noise"
LINK = [(("link", 1, 10),)]


def judged(*slow, depth=0.025, lower=-0.03, noise=0.0015, drift=1.0, fast=()):
    """(record, verdicts of its matrix): parts that are slow; drift: what all cells between nodes are times as fast.

    fast: a cell that is faster than its path can carry
    """
    quiet = {"disturbed": 0, "missing": 0, "drift": 0, "spread": 0.0005, "routes": (0, 0)}
    fabric = Fabric(Machine(4, 4), np.random.default_rng(3), sigma=noise, **quiet)
    run = fabric.run([(parts, depth) for parts in slow])
    run.values[fast] *= 1.12 if fast else 1.0
    content = record_of(fabric.machine, np.where(fabric.classes == "NET", run.values * drift, run.values))
    if fast:
        content["results"][0]["limit"][fast[0]][fast[1]] = 45.0
    reading.check(copy.deepcopy(content))
    table = {"cell[NET]": Reference(45.0, lower, 0.1, "GB/s"), "cell[NV18]": Reference(395.0, -0.02, 0.05, "GB/s")}
    (matrix,) = evaluate(content, References({("cluster", TESTCASE): table}), "cluster").matrices
    return content, matrix


def told(*slow, **changes):
    content, matrix = judged(*slow, **changes)
    return matrix.verdict, diagnosis.diagnose(content, content["results"][0], matrix)


@pytest.mark.parametrize(
    ("parts", "kind"),
    [(LINK[0], "link"), ((("node", 2),), "node"), ((("adapter", 1, 2),), "nic"), ((("node pair", 0, 3),), "node_pair")],
)
def test_a_part_between_nodes_is_named_by_the_noise_of_its_like_and_passes(parts, kind):
    verdict, found = told(parts)
    (one,) = found.findings
    assert (one.kind, one.within_tolerance) == (kind, True) and one.shift == pytest.approx(-0.025, abs=0.003)
    assert ALLOWED in found.sentences[0] and verdict < Verdict.FAIL


def test_a_part_on_a_node_that_another_process_used_is_no_finding():
    content, _ = judged(*LINK)
    node, other = (content["devices"][at]["node"] for at in (10, 4))
    for name, found in ((node, 0), (other, 1)):
        one = {"node": name, "kind": "context", "where": f"{name}:gpu2", "share": None, "pids": []}
        content["results"][0]["others"] = {"processes": [], "disturbances": [one]}
        references = {
            "cell[NET]": Reference(45.0, -0.03, 0.1, "GB/s"),
            "cell[NV18]": Reference(395.0, -0.02, 0.05, "GB/s"),
        }
        (matrix,) = evaluate(content, References({("cluster", TESTCASE): references}), "cluster").matrices
        assert len(diagnosis.diagnose(content, content["results"][0], matrix).findings) == found


def test_a_part_with_a_cell_beyond_its_tolerance_fails_and_is_not_said_to_be_allowed():
    verdict, found = told(*LINK, depth=0.04)
    assert [(one.kind, one.within_tolerance) for one in found.findings] == [("link", False)]
    assert verdict is Verdict.FAIL and ALLOWED not in found.sentences[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"depth": 0.015},  # within what machines differ
        {"lower": -0.05},  # somebody, or the noise of the runs that it is of, said that so much may be
        {"noise": 0.008},  # this run's own noise
    ],
)
def test_what_noise_or_a_wider_tolerance_explains_is_not_named(changes):
    assert told(*LINK, **changes)[1].findings == ()


def test_a_class_that_is_off_as_a_whole_has_drifted_and_is_what_its_tolerance_is_for():
    assert told(drift=0.975)[1].findings == ()
    assert told(*LINK, drift=0.985, depth=0.01)[1].findings == ()


def test_it_is_said_by_diagnose_where_all_passes_and_leaves_no_suspect():
    content, matrix = judged(*LINK)
    test = testcases.Test("x", "pass", record=content)
    one = judging.Judged(test, matrix.verdict, Evaluation((matrix,)))
    said = "\n".join(diagnosis_lines(Analysis(None, [one]), one, content["results"][0], matrix))
    assert "n000:gpu1->n002:gpu2 and n002:gpu2->n000:gpu1 are both 2." in said
    assert list(suspects.test_flags(one, content, {})) == []


def test_beside_it_what_failed_comes_first_and_is_suspect_alone():
    content, matrix = judged(*LINK, fast=(4, 12))
    assert matrix.verdict is Verdict.FAIL
    one = judging.Judged(testcases.Test("x", "fail", record=content), matrix.verdict, Evaluation((matrix,)))
    first, second, third = Analysis(None, [one]).findings
    assert first.verdict is Verdict.FAIL and first.text.startswith("n001:gpu0->n003:gpu0 50.")
    assert second.verdict is Verdict.WARN and ALLOWED in second.text
    assert third.verdict is Verdict.WARN and "worse than the median of its link class" in third.text
    marks = machine.test_marks(Analysis(None, [one]), one)
    assert {mark.word: mark.verdict for mark in marks} == {"slow": Verdict.WARN, "too fast": Verdict.FAIL}
    assert {label for label, *_ in suspects.test_flags(one, content, {})} == {"n001:gpu0", "n003:gpu0"}


GPUS = {"memory": "device", "engine": "ce", "transport": "direct", "unit": "GB/s"}
RANKS = {"memory": "host", "engine": "mpi", "transport": "mpi", "unit": "GB/s"}


@pytest.mark.parametrize(
    ("result", "link_class", "backend", "path"),
    [
        (GPUS, "NV18", "", DataPath.LINK),
        (GPUS, "NET", "", DataPath.FABRIC),
        (GPUS | {"transport": "staged"}, "NV18", "", DataPath.STAGED),
        (GPUS | {"transport": "staged"}, "NV18", "host", DataPath.PROCESSOR),
        (GPUS, "CORE", "host", DataPath.PROCESSOR),
        (GPUS | {"memory": "host"}, "HOST", "cuda", DataPath.HOST),
        (GPUS | {"engine": "mpi"}, "NV18", "", DataPath.LINK),
        (RANKS, "NODE", "", DataPath.PROCESSOR),
        (RANKS, "NET", "", DataPath.NETWORK),
        (RANKS | {"memory": "device"}, "NET", "host", DataPath.FABRIC),
    ],
)
def test_the_data_path_of_a_cell_decides_its_floor(result, link_class, backend, path):
    assert noise.data_path(result, link_class, backend) is path
    assert noise.reference_floor(result, link_class, backend) == noise.FLOORS[path]
    assert noise.floor_without_reference(result, link_class, backend) == noise.FLOORS_WITHOUT_REFERENCE[path]
    latency = result | {"unit": "us"}
    assert noise.reference_floor(latency, link_class, backend) == Floor(0.25, 0.20)
    assert noise.floor_without_reference(latency, link_class, backend) == 0.20


def test_a_reference_lets_no_more_pass_than_there_is_without_one():
    """But for ranks and threads of a node: their runs differ more than the cells of one run."""
    assert noise.FLOORS[DataPath.PROCESSOR].lower == 0.20
    for path, floor in noise.FLOORS.items():
        if path is DataPath.PROCESSOR:
            continue
        alone = noise.FLOORS_WITHOUT_REFERENCE[path]
        assert floor.lower <= (alone if alone < noise.ROUGH_FLOOR else noise.LEAST_ROUGH_FLOOR), path
    assert (
        noise.FLOORS_WITHOUT_REFERENCE[DataPath.PROCESSOR]
        == faults.RANKS
        > noise.ROUGH_FLOOR
        > noise.FLOORS_WITHOUT_REFERENCE[DataPath.LINK]
    )
