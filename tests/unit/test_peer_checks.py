"""What the checks of other programs say of recorded outputs: whole ones, and ones that lack something."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from check_runs import checks
from reasons import said as sentences

from linkmatrix import cli
from linkmatrix.foreign import peer_output as output
from linkmatrix.judge import evaluate
from linkmatrix.judge.evaluate import evaluate as judge
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.references import published
from linkmatrix.references.tables import References
from linkmatrix.runs import judging, testcases

DATA = Path(__file__).resolve().parents[1] / "data"
NVBANDWIDTH = (DATA / "foreign" / "nvbandwidth_v0.8_layout.json").read_text()
NCCL = (DATA / "foreign" / "nccl_tests_v2.13_layout.txt").read_text().split("\n$ ")[0].partition("\n")[2]
SAMPLE = (published.FOLDER / "004_a800.txt").read_text().partition("\n\ndevices 1 2")[0]
SAMPLE = SAMPLE[SAMPLE.index("[P2P (Peer-to-Peer)") :] + "\n"
OSU = (DATA / "foreign" / "osu_bw_validated.txt").read_text()
TOPOLOGY = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0-7\nGPU1\tNV18\t X \t0-7\n"
READ, WRITE = "device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce"


peers = checks("peers")


def printed(text, code=0, topology="", places=("n1",)):
    """What the script prints of a program that printed this."""
    lines = [f"rank {rank} on {node}" for rank, node in enumerate(places)]
    lines += ["program /usr/bin/tool", *(["topology", *quoted(topology)] if topology else []), "output", *quoted(text)]
    glued = [] if not text or text.endswith("\n") else [lines.pop()]
    return "\n".join(
        [*lines, "".join([*glued, f"ended code={code}"]), "Result: PASS" if code == 0 else "Result: FAIL", ""]
    )


def quoted(text):
    return [f"| {line}" for line in text.splitlines()]


def looked_at(text, testcase, command, code=0, topology="", link_class="", size=None, places=("n1",)):
    """(what was found, its checked record)."""
    said = output.parse_output(printed(text, code, topology, places))
    found = output.find_tables(said, testcase, command)
    record = output.record_of(said, found, testcase, "peer_check", link_class, size)
    reading.check(record)
    return found, record


def of_check(check, found, record, **more):
    """Stands for a test of that check that has read this."""
    said = SimpleNamespace(nodes=more.pop("places", ("n1",)))
    one = SimpleNamespace(
        **{"num_tasks": 1, "num_tasks_per_node": None, "of_gpus": True, "link_class": "", **more},
        testcase=record["expected"][0],
        found=found,
        record=record,
        output=said,
    )
    evaluation = judge(record, References({}), None)
    one.judged_results = lambda: list(zip(record["results"], evaluation.matrices, strict=True))
    for name in ("requested_sizes", "sharing_ranks", "result_figures"):
        if hasattr(check, name):
            setattr(one, name, getattr(check, name).__get__(one))
    one.machine_faults = lambda: sentences(check.machine_faults(one))
    one.table_faults = lambda: sentences(check.table_faults(one))
    one.values = lambda: {name: figure.value for name, figure in check.figures(one).items()}
    return one


def expected(devices, model=None):
    return checks("expect").ExpectedConfiguration(devices=devices, model=model)


def nvbandwidth(testcase=READ, text=NVBANDWIDTH, **more):
    return looked_at(text, testcase, f"nvbandwidth -j -t {testcase}", topology=TOPOLOGY, size=512 << 20, **more)


def test_a_matrix_of_nvbandwidth_is_a_record_with_the_links_that_nvidia_smi_tells():
    found, record = nvbandwidth()
    (result,) = record["results"]
    assert found.faults == [] and record["result"] == "PASS"
    assert result["values"] == [[None, 276.36], [276.07, None]], "the column is the source of a read"
    assert (result["link_class"], result["size_bytes"]) == ([["X", "NV18"], ["NV18", "X"]], 512 << 20)
    assert result["verified"] is True and record["imported"]["program"] == "nvbandwidth"
    assert (record["asked_by"], record["expected"], record["host"]["name"]) == ("peer_check", [READ], "n1")
    one = of_check(peers.peer_nvbandwidth, found, record, expected=expected(2, "H100"))
    assert one.machine_faults() + one.table_faults() == []
    assert one.values()["gpu0->gpu1"] == 276.36 and one.values()["min[NV18]"] == 276.07


def test_data_that_nvbandwidth_was_told_not_to_compare_was_not_compared():
    _, record = looked_at(NVBANDWIDTH, READ, f"nvbandwidth -j -s -t {READ}")
    assert record["results"][0]["verified"] is None
    _, record = nvbandwidth("device_to_device_latency_sm")
    assert record["results"][0]["verified"] is None, "a chase of pointers compares nothing"


def test_a_test_case_that_a_program_did_not_print_is_no_pass_and_says_which_there_are():
    found, record = nvbandwidth(WRITE)
    assert record["results"] == [] and record["result"] == "ERROR"
    assert found.faults[0].startswith(f"nvbandwidth printed no table of {WRITE}, but of {READ}, device_to_device_")


def test_the_sample_without_peer_access_did_not_measure_what_its_head_says():
    row = "     1\t     1     1     1"
    spoilt = SAMPLE.replace(row, row.replace("1     1     1", "0     1     1", 1), 1)
    found, record = looked_at(spoilt, WRITE, "p2pBandwidthLatencyTest")
    one = of_check(peers.peer_p2p_sample, found, record, expected=expected(8))
    assert spoilt != SAMPLE and one.machine_faults() == [
        f"{WRITE}: gpu1->gpu0 has no peer access, or the program did not report it"
    ]
    found, record = looked_at(spoilt, f"{WRITE}_peer_off", "p2pBandwidthLatencyTest")
    assert of_check(peers.peer_p2p_sample, found, record, expected=expected(8)).machine_faults() == []


@pytest.mark.parametrize(
    ("text", "testcase", "command"),
    [
        (NVBANDWIDTH, READ, "nvbandwidth -j"),
        (SAMPLE, "device_to_device_copy_latency_write_ce", "p2pBandwidthLatencyTest"),
        (OSU, "osu_bw_hh", "osu_bw -c"),
        (NCCL, "all_reduce_perf", "all_reduce_perf -g 8"),
    ],
    ids=["nvbandwidth", "sample", "osu", "nccl"],
)
def test_an_output_that_is_cut_anywhere_or_of_a_program_that_failed_is_no_pass(text, testcase, command):
    def judged(text, code=0):
        found, record = looked_at(text, testcase, command, code)
        if found.faults:
            assert record["result"] == "ERROR"
            return found.faults
        check = {"nvbandwidth": peers.peer_nvbandwidth, "p2pBandwidthLatencyTest": peers.peer_p2p_sample}.get(
            command.split()[0], peers.peer_osu if "osu" in command else peers.peer_nccl_tests
        )
        sizes = "512:1GiB:8"
        devices = 2 if check is peers.peer_nvbandwidth else 8
        one = of_check(check, found, record, expected=expected(devices), sizes=sizes)
        one.of_gpus = check is not peers.peer_osu
        return one.machine_faults() + one.table_faults()

    assert judged(text) == []
    assert judged(text, code=1) and judged("") and judged("\n")
    failed, whole = (looked_at(said, testcase, command)[1]["imported"]["program"] for said in ("", text))
    assert failed == whole, "it is called the same"
    end = text.rstrip()
    if command.startswith("all_reduce"):
        end = end[: end.index("# Out of bounds")].rstrip()
    for cut in range(1, len(end), max(1, len(end) // 150)):
        assert judged(end[:-cut]), end[:-cut][-60:]
        assert judged(end[:-cut].rpartition("\n")[0] + "\n"), "whole lines"


def test_the_matrices_of_the_sample_are_test_cases_of_their_own_with_and_without_peer_access():
    for testcase, value in ((WRITE, 186.35), (f"{WRITE}_peer_off", 15.83)):
        found, record = looked_at(SAMPLE, testcase, "p2pBandwidthLatencyTest")
        (result,) = record["results"]
        assert (result["values"][0][1], result["verified"], found.faults) == (value, None, [])
        one = of_check(peers.peer_p2p_sample, found, record, expected=expected(8, "A800"))
        assert one.machine_faults() + one.table_faults() == []
        assert one.values()["gpu0->gpu1"] == value and "median[LOCAL]" in one.values()


def test_each_size_of_nccl_tests_has_its_ways():
    found, record = looked_at(NCCL, "all_reduce_perf", "all_reduce_perf -b 8 -e 1G -f 8 -g 8")
    one = of_check(peers.peer_nccl_tests, found, record, expected=expected(8, "A100"), sizes="512:1GiB:8")
    assert one.machine_faults() == [] and (record["imported"]["nodes"], record["imported"]["ranks"]) == (1, 8)
    assert one.table_faults() == [] and one.values()["in-place@1073741824"] == 232.62
    one.sizes = "512:8GiB:8"
    assert "9 sizes should be measured, but the record has 8" in one.table_faults()[0]


def osu(text=OSU, places=("n1", "n1"), link_class="NODE", each=2):
    found, record = looked_at(text, "osu_bw_hh", "osu_bw -c -m 1:4194304", link_class=link_class, places=places)
    return (
        found,
        record,
        of_check(
            peers.peer_osu,
            found,
            record,
            places=places,
            num_tasks=2,
            num_tasks_per_node=each,
            of_gpus=False,
            link_class=link_class,
            expected=expected(None),
        ),
    )


def test_each_size_of_osu_is_compared_and_published_by_its_class():
    found, record, one = osu()
    assert (found.faults, one.machine_faults(), one.table_faults()) == ([], [], [])
    assert len(one.values()) == 23 and one.values()["NODE@4194304"] > 0
    assert {result["verified"] for result in record["results"]} == {True}
    _, record, one = osu(places=("n1", "n2"), link_class="NET", each=1)
    assert one.machine_faults() == [] and [node["name"] for node in record["nodes"]] == ["n1", "n2"]
    assert record["results"][0]["link_class"] == [["NET"]]


def osu_pairs(places, spoilt=("", "")):
    """Four pairs, by a text of two sizes whose data was compared."""
    text = (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 4 ] [ window size: 64 ]\n"
        "# Size                  MB/s        Messages/s        Validation\n# Datatype: MPI_CHAR.\n"
        + "".join(f"{1 << power}   {2 << power}.00   2000000.00   Pass\n" for power in range(23))
    )
    testcase, asked = "osu_mbw_mr_hh_4_pairs", "osu_mbw_mr -c -m 1:4194304"
    found, record = looked_at(text.replace(*spoilt), testcase, asked, link_class="NET", places=places)
    place = {"places": places, "num_tasks": 8, "num_tasks_per_node": 4, "pairs": 4}
    more = {**place, "of_gpus": False, "link_class": "NET", "expected": expected(None)}
    one = of_check(peers.peer_osu_pairs, found, record, **more)
    return found, record, one


def on_two_nodes(each=4):
    return tuple(f"n{1 + rank // each % 2}" for rank in range(8))


def test_several_pairs_of_osu_are_a_sum_for_each_size_with_the_rate_of_messages():
    found, record, one = osu_pairs(on_two_nodes())
    assert (found.faults, one.table_faults()) == ([], [])
    assert one.values()["NET@4096"] == 8.192 and len(one.values()) == 23
    parts = {result["parts"]["message_rate"]["values"][0][0] for result in record["results"]}
    assert parts == {2000000.0} and {result["verified"] for result in record["results"]} == {True}
    found, _, one = osu_pairs(on_two_nodes(), ("4096   ", "4097   "))
    assert found.faults and "without 4096, 8192" in " ".join(one.table_faults())


def test_pairs_of_one_node_are_not_between_nodes():
    for places, said in (
        (on_two_nodes(), ""),
        (on_two_nodes(each=1), "osu_mbw_mr_hh_4_pairs: ranks 0 and 4, 1 and 5, 2 and 6, 3 and 7 were on one node"),
        (on_two_nodes()[:7], "8 ranks should run, 4 per node"),
    ):
        *_, one = osu_pairs(places)
        assert said in " ".join(one.machine_faults()) and bool(said) == bool(one.machine_faults())


def test_ranks_that_ran_elsewhere_are_a_fault():
    *_, one = osu(places=("n1", "n1"), link_class="NET", each=1)
    assert one.machine_faults() == ["2 ranks should run, 1 per node: they ran on n1, n1"]
    *_, one = osu(places=("n1",))
    assert "they ran on n1" in one.machine_faults()[0]


def test_a_size_or_a_matrix_that_was_printed_twice_is_no_pass_and_stands_once_in_the_record():
    lines = OSU.splitlines(keepends=True)
    again = next(line for line in lines if line.startswith("64 "))
    found, record, _ = osu(OSU.replace(again, again * 2))
    assert found.faults == ["osu_bw printed osu_bw_hh of 64 bytes twice"] and record["result"] == "ERROR"
    assert len(record["results"]) == 23
    found, record = looked_at(SAMPLE + SAMPLE, WRITE, "p2pBandwidthLatencyTest")
    assert f"p2pBandwidthLatencyTest printed {WRITE} twice" in found.faults and len(record["results"]) == 1


def test_data_that_osu_found_wrong_or_a_size_that_it_left_out_is_no_pass():
    found, record, _ = osu(OSU.replace("Pass", "Fail", 1))
    assert "messages of 1 bytes from rank0 to rank1 have wrong data" in " ".join(found.faults)
    assert record["result"] == "ERROR"
    lines = OSU.splitlines(keepends=True)
    *_, one = osu("".join(line for line in lines if not line.startswith("64 ")))
    assert "without 64 bytes" in " ".join(one.table_faults())


def test_they_are_judged_by_references_of_their_own_check():
    _, record = nvbandwidth()
    cells = {"gpu0->gpu1": [276.0, -0.02, 0.05, "GB/s"], "gpu1->gpu0": [276.0, -0.02, 0.05, "GB/s"]}
    lines = [f"      {name}: [{', '.join(map(str, value))}]" for name, value in cells.items()]
    text = "\n".join(["peer_check:", "  $index: [reference_name, testcase]", "  bench:", f"    {READ}:", *lines])
    references = References.read(text, Path("p2p.yaml"))
    test = testcases.Test(name="peer_check", record=record)
    assert judging.judge(test, references, "bench").verdict is Verdict.PASS
    others = References.read(text.replace("peer_check", "intranode_p2p"), Path("p2p.yaml"))
    assert judging.judge(test, others, "bench").verdict is Verdict.NOT_JUDGED
    slow = References.read(text.replace("276.0", "300.0"), Path("p2p.yaml"))
    assert judging.judge(test, slow, "bench").verdict is Verdict.FAIL


def test_a_rank_that_is_heard_late_is_no_end():
    said = "rank 0 on n1\noutput\n| 1  2\nended code=0\nResult: PASS\nrank 1 on n2\n"
    assert output.ranks_first(said).splitlines()[1:] == [
        "rank 1 on n2",
        "output",
        "| 1  2",
        "ended code=0",
        "Result: PASS",
    ]
    assert output.parse_output(said) == output.parse_output(output.ranks_first(said))


def stored(folder, name, make):
    """Six runs of a check, which differ by a thousandth each; returns how `adopt` ends on them, and its file."""
    for number in range(6):
        record = make()
        record |= {"asked_by": name, "started": f"2026-11-2{number + 1}T01:00:00Z"}
        for result in record["results"]:
            for grid in ("values", "low", "high"):
                rows = [[value and value * (1 + number / 1000) for value in row] for row in result[grid]]
                result[grid] = rows
        place = folder / str(number) / "record.json"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(record))
    file = folder / "adopted.yaml"
    return cli.main(["adopt", str(folder), "--table", "bench", "--file", str(file), "--write"]), file


def test_references_of_their_own_are_adopted_by_size_and_judge_a_run(tmp_path):
    code, file = stored(tmp_path, "peer_osu %testcase=osu_bw_hh", lambda: osu()[1])
    assert code == 0
    references = References.load(file)
    assert set(references.table("bench@sweep", "osu_bw_hh")) == {f"NODE@{1 << power}" for power in range(23)}
    record = json.loads((tmp_path / "3" / "record.json").read_text())
    test = testcases.Test(name=record["asked_by"], record=record, variant="@sweep")
    assert judging.judge(test, references, "bench").verdict is Verdict.PASS


def test_what_compared_no_data_is_said_to_and_not_adopted(tmp_path, capsys, linkmatrix):
    make = lambda: nvbandwidth("device_to_device_latency_sm")[1]  # noqa: E731
    code, file = stored(tmp_path, "peer_nvbandwidth %testcase=device_to_device_latency_sm", make)
    said = capsys.readouterr()
    assert code == 2 and not file.exists() and "its data was not verified" in said.out + said.err
    shown = " ".join(linkmatrix.out("show", tmp_path / "0").split())
    assert "NOT JUDGED" in shown and "is verified" not in shown
    assert "The data of device_to_device_latency_sm was not verified" in shown and "no references" in shown
    record = make()
    assert evaluate.unverified_reason(record["results"][0]) == "its program verified no data"
