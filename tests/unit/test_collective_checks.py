"""What the checks of collectives say of a run that is not as asked for: a recorded run of two GPUs, spoiled."""

import copy
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from check_runs import checks, fault_sentences
from reasons import said as sentences

import linkmatrix.record.reading
from linkmatrix.errors import BadInput
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.references.tables import References

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data"
RECORD = linkmatrix.record.reading.load(DATA / "h200x2_collectives.record.json")
SIZES, BYTES = "1MiB,64MiB,1GiB", (1 << 20, 1 << 26, 1 << 30)
SUM = "all_reduce_perf"
GPUS = {"devices": 2, "model": "NVIDIA H200"}


collective, collectives, expect, sizes = checks("collective"), checks("collectives"), checks("expect"), checks("sizes")


def judged(testcase=SUM, change=None, expected=GPUS, wanted=SIZES, check=None, **more):
    """The sentences of a check on the recorded run, with the record spoiled by change(record)."""
    check = check or collectives.device_collectives
    return fault_sentences(
        check,
        RECORD,
        testcase,
        *("expected_ranks", "expected_nccl", "placements", "requested_sizes"),
        change=change,
        sizes=wanted,
        usual_sizes=check.usual_sizes,
        num_tasks=more.get("num_tasks_per_node", 1),
        nodes=1,
        cases=check.cases,
        expected=expect.ExpectedConfiguration(**expected),
        **{"extras": {"nccl_transport": "P2P"}, **more},
    )


def results_of(record, testcase=SUM):
    return [result for result in record["results"] if result["testcase"] == testcase]


@pytest.mark.parametrize("testcase", collective.NCCL_PLACEMENTS)
def test_a_run_as_it_was_asked_for_has_no_faults(testcase):
    assert judged(testcase) == []


@pytest.mark.parametrize("which", range(3))
def test_a_size_that_was_lost_is_no_pass(which):
    def lose(record):
        record["results"].remove(results_of(record)[which])

    assert judged(change=lose) == [
        f"{SUM}: 3 sizes should be measured, but the record has 2, without {BYTES[which]} bytes"
    ]


def test_sizes_that_nobody_asked_for_are_no_pass():
    assert judged(wanted="1MiB,64MiB") == [f"{SUM}: 2 sizes should be measured, but the record has 3"]
    # those of the check, from 1 KiB to 1 GiB by fours
    (said,) = judged(wanted="")
    assert said.startswith(f"{SUM}: 11 sizes should be measured, but the record has 3, without 1024, 4096, ")


def test_a_way_that_is_missing_is_told():
    def only_in_place(record):
        results_of(record)[0]["columns"] = ["in-place"]

    (said,) = judged(change=only_in_place)
    assert said == f"{SUM} of 1 MiB: its columns lack out-of-place"


@pytest.mark.parametrize("of", [{"verified": None}, {"verified": False}, {"status": [["ok", "not-run"]]}])
def test_data_that_nobody_compared_or_measured_is_incomplete(of):
    record = copy.deepcopy(RECORD)
    record["results"] = results_of(record)
    record["results"][2].update(of)
    verdicts = [matrix.verdict.name for matrix in evaluate(record, References({}), None).matrices]
    assert verdicts == ["NOT_JUDGED", "NOT_JUDGED", "INCOMPLETE"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("P2P/CUMEM", []),
        ("P2P/CUMEM, SHM/direct/direct", ["NCCL used SHM/direct/direct, the partition specifies P2P"]),
        ("", ["the record does not contain the transports of NCCL: unset NCCL_DEBUG"]),
    ],
)
def test_another_transport_of_nccl_than_promised_is_told(found, said):
    def spoil(record):
        record["software"]["NCCL transports"] = found

    assert judged(change=spoil) == said
    assert judged(change=spoil, extras={}) == []


@pytest.mark.parametrize(
    ("software", "said"),
    [
        ({"NCCL transports": "P2P/CUMEM, NET/IB/0/GDRDMA", "NCCL network": "IB"}, []),
        (
            {"NCCL transports": "NET/IB/0", "NCCL network": "IB"},
            ["NCCL used NET/IB/0, the partition specifies GPU"],
        ),
        (
            {"NCCL transports": "P2P/CUMEM"},
            ["NCCL's network is unknown, the partition specifies IB", "the record contains no transport between nodes"],
        ),
        ({"NCCL transports": "P2P/CUMEM", "NCCL network": "IB"}, ["the record contains no transport between nodes"]),
        (
            {},
            [
                "the record does not contain the transports of NCCL",
                "NCCL's network is unknown, the partition specifies IB",
            ],
        ),
    ],
)
def test_another_network_of_nccl_than_promised_is_told(software, said):
    found = sentences(expect.nccl_faults({"software": software}, network="IB", direct=True))
    assert len(found) == len(said)
    assert all(one.startswith(wanted) for one, wanted in zip(found, said, strict=True))


def on_nodes(*nodes, transports):
    return {"software": {"NCCL transports": transports}, "devices": [{"node": node} for node in nodes]}


def test_a_network_inside_a_node_is_not_what_was_promised():
    inside = on_nodes("n0", "n0", transports="NET/Socket/0")
    assert sentences(expect.nccl_faults(inside, "P2P")) == ["NCCL used NET/Socket/0, the partition specifies P2P"]
    assert expect.nccl_faults(on_nodes("n0", "n1", transports="NET/IB/0"), "P2P") == []
    assert expect.nccl_faults(on_nodes("n0", "n0", "n1", "n1", transports="P2P/CUMEM, NET/IB/0"), "P2P") == []
    (said,) = sentences(expect.nccl_faults(on_nodes("n0", "n0", "n1", "n1", transports="NET/IB/0"), "P2P"))
    assert said == "the record contains no transport inside a node, but the partition specifies P2P"


SENDS = "rank_to_rank_bandwidth_nccl"


def of_sends(change=None, expected=GPUS, transport="P2P"):
    """The sentences of the check of NCCL's pairs on its recorded run."""
    record = linkmatrix.record.reading.load(DATA / "h200x2_sends.record.json")
    if change:
        change(record)
    extras = {"nccl_transport": transport}
    run = SimpleNamespace(testcase=SENDS, record=record, engine="nccl", share=None)
    run.measured_pairs = collectives.device_sends.measured_pairs
    run.expected, run.current_partition = expect.ExpectedConfiguration(**expected), SimpleNamespace(extras=extras)
    for method in ("machine_faults", "size_faults", "axes"):
        setattr(run, method, getattr(collectives.device_sends, method).__get__(run))
    return sentences(collectives.device_sends.faults(run))


def test_the_pairs_of_nccl_are_all_there_compared_and_as_promised():
    assert of_sends() == []
    assert of_sends(transport="SHM") == ["NCCL used P2P/direct pointer, the partition specifies SHM"]
    assert len(of_sends(expected={**GPUS, "link_class": "NV12"})) == 2

    def another(record):
        record["results"][0]["engine"] = "ce"

    assert of_sends(change=another) == [f"{SENDS} of 512 MiB was measured by ce, not by nccl"]


def test_ranks_that_are_missing_and_another_library_are_told():
    found = judged(check=collectives.rank_collectives, num_tasks_per_node=4)
    assert "4 ranks were started, but 2 are in the record" in found
    assert f"{SUM} of 1 MiB was measured by nccl, not by mpi" in found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("4KiB,1MiB", [4096, 1 << 20]),
        ("1KiB:64KiB:4", [1024, 4096, 16384, 65536]),
        ("1:9", [1, 2, 4, 8, 9]),
        ("0:4:2", [0, 1, 2, 4]),
        ("1:10:1.5", [1, 2, 3, 5, 8, 10]),
    ],
)
def test_sizes_are_those_of_the_program(text, found):
    assert sizes.parse_sizes(text) == found


@pytest.mark.parametrize("text", ["", "4KiB,", "many", "1KiB:"])
def test_sizes_that_are_none_are_bad_input(text):
    with pytest.raises(BadInput, match="the size "):
        sizes.parse_sizes(text)


def test_a_size_is_rounded_down_to_a_part_of_each_rank():
    found = [1008, 65520]
    assert sizes.size_faults("x", found, [1024, 65536], slack=47) == []
    assert sizes.size_faults("x", found, [1024, 65536], slack=15) != []
    assert sizes.size_faults("x", found[::-1], [1024, 65536], slack=47) != []


def figures(record, extras):
    """The performance variables of the check on a record."""
    evaluation = evaluate({**record, "results": results_of(record)}, References({}), None)
    run = SimpleNamespace(testcase=SUM, results=results_of(record), current_partition=SimpleNamespace(extras=extras))
    run.judged_results = lambda: list(zip(run.results, evaluation.matrices, strict=True))
    return collective.collective_run.figures(run)


def test_the_variables_are_those_that_adopt_makes():
    assert set(figures(RECORD, {})) == {f"{way}@{size}" for way in collective.BOTH for size in BYTES}


def with_utilisation(*shares):
    def change(record):
        largest = max(results_of(record), key=lambda result: result["size_bytes"])
        largest["parts"]["utilisation"] = {"title": "utilisation", "unit": "%", "values": [list(shares)]}

    return change


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ((73.4, 73.1), []),
        ((73.4, 69.9), ["in-place: 69.9 % of the links' limit, the partition specifies 70 %"]),
        ((73.4, float("nan")), ["in-place: nan % of the links' limit, the partition specifies 70 %"]),
        ((None, 73.1), ["out-of-place: the share of the links' limit is unknown"]),
    ],
)
def test_the_promised_share_of_what_links_allow_is_reached_or_known_to_be_missed(shares, expected):
    faults = judged(change=with_utilisation(*shares), extras={"collective_utilisation": {SUM: 70}})
    assert len(faults) == len(expected)
    assert all(wanted in fault for wanted, fault in zip(expected, faults, strict=True))


def test_a_promised_share_is_published_with_the_promise_as_its_reference_beside_the_others():
    record = copy.deepcopy(RECORD)
    with_utilisation(73.4, 73.1)(record)
    found = figures(record, {"collective_utilisation": {SUM: 70}})
    shares = {name: one for name, one in found.items() if name.startswith("utilisation")}
    assert {name: one.value for name, one in shares.items()} == {
        "utilisation[out-of-place]": 73.4,
        "utilisation[in-place]": 73.1,
    }
    assert {one.tolerances for one in shares.values()} == {(70, 0, None, "%")} and len(found) == 2 + 6
    assert not any(name.startswith("utilisation") for name in figures(record, {}))


@pytest.mark.parametrize(
    ("promised", "said"),
    [
        (70, "=70: give percent by test case, such as {'all_reduce_perf': 70}"),
        ({"all_reduce": 70}, " has 'all_reduce': the known test cases are all_reduce_perf, "),
        ({SUM: "70"}, " has all_reduce_perf='70': give percent, more than 0 and at most 100"),
        ({SUM: 0}, "=0: give percent"),
        ({SUM: True}, "=True: give percent"),
        ({SUM: 120}, "=120: give percent"),
        ({SUM: float("nan")}, "=nan: give percent"),
        ({"alltoall_perf": None}, " has alltoall_perf=None: give percent"),
    ],
)
def test_a_promise_that_could_not_be_judged_is_told(promised, said):
    (fault,) = judged(change=with_utilisation(73.4, 73.1), extras={"collective_utilisation": promised})
    assert fault.startswith("extras['collective_utilisation'] of the partition") and said in fault


def test_more_than_links_allow_is_no_figure_that_can_be_judged():
    faults = judged(change=with_utilisation(118.7, 100.4), extras={"collective_utilisation": {SUM: 70}})
    assert len(faults) == 1 and "out-of-place: 118.7 % of the links' limit is impossible" in faults[0]


def test_a_promised_share_without_a_limit_in_the_record_is_no_pass():
    faults = judged(extras={"collective_utilisation": {SUM: 70}})
    assert len(faults) == 2 and all("not compared with the specified" in fault for fault in faults)
    assert judged(extras={"collective_utilisation": {"alltoall_perf": 70}}) == [], "promised of another one"


def test_each_gpu_must_have_been_left_out_once():
    """A column that is missing is a GPU of which nobody knows whether it holds the others back."""
    name, size = "all_reduce_perf_without", 1 << 26

    def change(ways):
        def left_out(record):
            one = next(result for result in results_of(record) if result["size_bytes"] == size)
            one |= {"testcase": name, "columns": ways}
            record["results"] = [one]

        return left_out

    check, both = collectives.device_collectives_without, ["without-gpu0", "without-gpu1"]
    for ways, expected in ((both, 0), (both[::-1], 1), (["without-gpu0", "in-place"], 1)):
        faults = judged(name, change(ways), wanted="64MiB", check=check)
        assert bool(faults) == bool(expected), faults


@pytest.mark.parametrize(
    ("text", "ranks", "expected"),
    [
        ("1KiB:16MiB:4", 64, "1KiB:16MiB:4"),
        ("1KiB:64KiB:4", 65, "4096,16384,65536"),
        ("4KiB,4MiB", 1024, "4194304"),
    ],
)
def test_of_the_usual_sizes_those_are_asked_for_that_leave_each_rank_a_part(text, ranks, expected):
    """Of 1 KiB between 65 ranks, one would have nothing: the program refuses it."""
    assert sizes.sizes_for_ranks(text, ranks) == expected


def test_every_collective_of_the_program_has_placements():
    words = (REPOSITORY / "src" / "collective" / "collective_words.hpp").read_text(encoding="utf-8")
    names = set(re.findall(r'Collective::(\w+), "\1"', words)) - {"send"}  # a matrix
    assert len(names) > 5
    assert {f"{name}_perf" for name in names} <= collective.CASES.keys()
