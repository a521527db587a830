"""Collectives beside those of a published system: as many nodes, the same algorithm, size and way, and no others."""

import json
import re

import collectives
import pytest
from collectives import DATA, DOCUMENT, LAYOUT, own

from linkmatrix import cli
from linkmatrix.foreign.launch import command_extent, ranks_extent
from linkmatrix.foreign.nccl import algorithm_of
from linkmatrix.record import reading
from linkmatrix.references import published

pytestmark = pytest.mark.usefixtures("wide_terminal")

#: Where the document's four tables are among its runs → its test case, what it ran on, and its sizes.
TABLES = {
    "03": ("all_reduce_perf", "8 ranks on one node", ("128 MiB", "256 MiB", "512 MiB", "1 GiB", "2 GiB")),
    "04": ("all_reduce_perf_tree", "8 ranks on one node", ("128 MiB", "256 MiB", "512 MiB", "1 GiB", "2 GiB")),
    "06": ("all_reduce_perf_ring", "16 ranks on 2 nodes", ("128 MiB", "256 MiB", "512 MiB", "1 GiB")),
    "07": ("all_reduce_perf_tree", "16 ranks on 2 nodes", ("128 MiB", "256 MiB", "512 MiB", "1 GiB")),
}
LINE = re.compile(r"  (\d+ \w+): out-of-place ([\d.]+) against ([\d.]+) GB/s, × (\S+); in-place ([\d.]+) against .*")


@pytest.fixture
def imported(tmp_path):
    """The records of a text: a folder of them."""
    return lambda text: collectives.imported(tmp_path, text)


@pytest.fixture
def against(capsys):
    """Compares with the published system, or with another run: (exit code, lines)."""

    def do(path, other="a100-roce", *options):
        code = cli.main(["compare", "--all", str(path), "--against", str(other), *options])
        lines = capsys.readouterr().out.splitlines()
        return code, [line for line in lines if not line.startswith("nothing stands out")]

    return do


def printed(name, nodes):
    """{size in bytes: [out of place, in place]} of the published table."""
    return {
        one.size_bytes: list(one.cells.values())
        for one in published.load("a100-roce").tables
        if one.testcase == name and not one.part and one.extent.nodes == nodes
    }


@pytest.mark.parametrize("place", TABLES)
def test_each_table_of_the_document_meets_itself_size_by_size_and_nothing_else(imported, against, place):
    name, where, sizes = TABLES[place]
    code, lines = against(imported(DOCUMENT) / place)
    assert code == 0 and lines[0] == f"{name}, bus bandwidth of {where}"
    found = [LINE.fullmatch(line) for line in lines[1:]]
    assert tuple(one[1] for one in found) == sizes
    values = printed(name, 1 if "one node" in where else 2).values()
    assert [[float(one[2]), float(one[5])] for one in found] == list(values)
    assert {one[4] for one in found} == {"1"}


def test_another_run_has_a_ratio_for_each_size_in_common_and_the_others_are_said(imported, against):
    code, lines = against(imported(LAYOUT))
    assert code == 0
    assert lines[:3] == [
        "all_reduce_perf, bus bandwidth of 8 ranks on one node",
        "  128 MiB: out-of-place 225.70 against 175.93 GB/s, × 1.28; in-place 224.25 against 176.42 GB/s, × 1.27",
        "  1 GiB: out-of-place 231.78 against 230.50 GB/s, × 1.01; in-place 232.62 against 230.61 GB/s, × 1.01",
    ]
    assert lines[3] == "all_reduce_perf_ring, bus bandwidth of 16 ranks on 2 nodes"
    assert [LINE.fullmatch(line)[1] for line in lines[4:8]] == ["128 MiB", "256 MiB", "512 MiB", "1 GiB"]
    assert lines[8:] == [
        "all_reduce_perf of 8 ranks on one node: only in this run: 512 bytes, 4 KiB, 32 KiB, 256 KiB, 2 MiB, 16 MiB",
        "all_reduce_perf of 8 ranks on one node: only in a100-roce: 256 MiB, 512 MiB, 2 GiB",
        "all_reduce_perf_ring of 16 ranks on 2 nodes: only in this run: 2 GiB",
    ]


def run_of(command, text=None):
    """The document's first table, as the output of another command."""
    lines = (text or DOCUMENT).splitlines()
    return "\n".join([f"$ {command}", *lines[47:55], ""])


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "NCCL_ALGO=Ring ./all_reduce_perf -g 8",
            "all_reduce_perf_ring: 8 ranks on one node in this run, 16 ranks on 2 nodes in the other run:"
            " not comparable",
        ),
        (
            "mpirun --host a,b,c ./all_reduce_perf -g 8",
            "all_reduce_perf: 24 ranks on 3 nodes in this run, 8 ranks on one node in the other run: not comparable",
        ),
        (
            "NCCL_ALGO=Tree mpirun -np 24 --host a:8,b:8,c:8 ./all_reduce_perf",
            "all_reduce_perf_tree: 24 ranks on 3 nodes in this run, 8 ranks on one node and 16 ranks on 2 nodes in the"
            " other run: not comparable",
        ),
        (
            "mpirun -np 8 ./all_reduce_perf",
            "all_reduce_perf: 8 ranks on an unknown number of nodes in this run, 8 ranks on one node in the other run:"
            " not comparable",
        ),
    ],
)
def test_another_number_of_nodes_or_an_unknown_one_is_not_comparable_and_that_is_said(imported, against, command, said):
    assert against(imported(run_of(command))) == (3, [said])


@pytest.mark.parametrize("command", ["NCCL_ALGO=NVLS ./all_reduce_perf -g 8", "./all_gather_perf -g 8"])
def test_another_algorithm_or_collective_is_nothing_in_common(imported, against, command):
    code, lines = against(imported(run_of(command)))
    assert code == 3 and lines[0].startswith("No test case was measured in both")


def test_fewer_ranks_on_as_many_nodes_are_comparable_and_said(imported, against):
    code, lines = against(imported(run_of("./all_reduce_perf -g 4")))
    assert code == 0
    assert lines[0] == "all_reduce_perf, bus bandwidth of 4 ranks on one node against 8 ranks on one node"


def test_sizes_that_the_other_does_not_have_are_no_comparison(imported, against):
    text = run_of("./all_reduce_perf -g 8").splitlines()[:5]
    code, lines = against(imported("\n".join([*text, ""]).replace("134217728", "134217720")))
    assert code == 3
    assert lines[0] == "all_reduce_perf of 8 ranks on one node: only in this run: 134217720 bytes"
    assert lines[1].endswith("only in a100-roce: 128 MiB, 256 MiB, 512 MiB, 1 GiB, 2 GiB")


@pytest.mark.parametrize(("place", "nodes"), [("03", 1), ("07", 2)])
def test_our_own_program_is_compared_as_an_import_is(imported, against, tmp_path, place, nodes):
    folder = imported(DOCUMENT) / place
    theirs = against(folder)
    path = tmp_path / "own.json"
    path.write_text(json.dumps(own(json.loads((folder / "record.json").read_text()), nodes)))
    assert against(path) == theirs
    code, lines = against(path, folder)
    assert code == 0 and lines == theirs[1]


def test_ranks_are_counted_in_the_list_that_the_program_prints(imported):
    folder = imported(LAYOUT.replace("$ ", "somebody ran "))
    found = [reading.load(folder / place / "record.json") for place in ("01", "02")]
    assert [(one["imported"]["nodes"], one["imported"]["ranks"]) for one in found] == [(1, 8), (2, 16)]
    assert [device["label"] for device in found[0]["devices"]] == [f"gpu{number}" for number in range(8)]
    assert found[1]["devices"][9]["label"] == "n02:gpu1" and found[1]["devices"][9]["node"] == "n02"


def test_a_command_and_a_list_of_ranks_that_contradict_each_other_leave_it_unknown(imported):
    text = LAYOUT.replace("-f 8 -g 8", "-f 8 -g 4")
    record = reading.load(imported(text) / "01" / "record.json")
    assert (record["imported"]["nodes"], record["imported"]["ranks"]) == (1, None)


@pytest.mark.parametrize(
    ("command", "nodes", "ranks"),
    [
        ("./all_reduce_perf", 1, 1),
        ("NCCL_DEBUG=INFO /root/all_reduce_perf -b 8 -g 8 -t 2", 1, 16),
        ("./all_reduce_perf --ngpus=4", 1, 4),
        ("./all_reduce_perf -g all", None, None),
        ("mpirun -np 1 ./all_reduce_perf -g 8", 1, 8),
        ("mpirun -np 16 ./all_reduce_perf", None, 16),
        ("mpirun ./all_reduce_perf", None, None),
        ("mpirun --host a,b -x NCCL_ALGO=Tree ./all_reduce_perf -g 8", 2, 16),
        ("/usr/bin/mpirun -np 16 -H a:8,b:8 ./all_reduce_perf", 2, 16),
        ("mpirun -H a:8,b:8 ./all_reduce_perf", 2, 16),
        ("mpirun -np 8 -H a:8,b:8 ./all_reduce_perf", None, 8),
        ("mpirun -np 4 -H a:8 ./all_reduce_perf", 1, 4),
        ("mpirun -H a:many ./all_reduce_perf", None, None),
        ("srun -N 2 --ntasks-per-node=8 ./all_reduce_perf", 2, 16),
        ("srun -N2 -n16 ./all_reduce_perf", 2, 16),
        ("srun --nodes=2 ./all_reduce_perf -g 8", 2, 16),
        ("srun -n 8 ./all_reduce_perf", None, 8),
        ("srun -n 1 ./all_reduce_perf -g 8", 1, 8),
        ("docker ./all_reduce_perf -g 8", None, None),
        ("mpirun 'a ./all_reduce_perf", None, None),
        ("nvidia-smi", None, None),
        (None, None, None),
    ],
)
def test_a_command_says_how_many_nodes_and_ranks_it_starts_or_nobody_knows(command, nodes, ranks):
    assert command_extent(command) == (nodes, ranks)


def test_a_list_of_ranks_with_a_gap_counts_nothing():
    assert ranks_extent({0: ("a", 0), 2: ("a", 2)}) == ranks_extent({}) == (None, None)
    assert ranks_extent({0: ("a", 0), 1: ("b", 0)}) == (2, 2)


@pytest.mark.parametrize(
    ("setting", "end"),
    [
        ("", ""),
        ("-x NCCL_ALGO=RING ", "_ring"),
        ("NCCL_ALGO=Ring,Tree ", "_ring_tree"),
        ("NCCL_ALGO=^Tree ", "_not_tree"),
    ],
)
def test_an_algorithm_that_was_asked_for_is_the_end_of_the_name(setting, end):
    assert algorithm_of(f"{setting}./all_reduce_perf") == end


def test_sizes_whose_bandwidth_is_printed_as_zero_are_left_out_and_said(imported):
    record = reading.load(imported(LAYOUT) / "01" / "record.json")
    assert record["result"] == "PASS" and record["results"][0]["size_bytes"] == 512
    assert record["results"][0]["notes"] == ["sizes whose bandwidth is printed as 0.00 are ignored: 8 bytes, 64 bytes"]


def test_cores_of_a_host_stand_beside_no_gpus_and_that_is_said(against):
    host = DATA / "host_quick.record.json"
    code, lines = against(host, "h800")
    assert code == 3
    assert (
        "device_to_device_memcpy_write_ce: cores of a host in this run, devices in the other run: not comparable"
        in lines
    )
    assert not any("CORE" in line for line in lines)
    code, lines = against(host, host)
    assert code == 0 and any(line.startswith("  CORE: median") for line in lines)


def test_another_type_or_reduction_is_not_comparable_and_that_is_said(against, tmp_path):
    record = json.loads((DATA / "h200x2_all_reduce.record.json").read_text())
    usual, doubles = tmp_path / "usual.record.json", tmp_path / "doubles.record.json"
    usual.write_text(json.dumps(record))
    for result in record["results"]:
        result["notes"].append("asked for double, max")
    doubles.write_text(json.dumps(record))
    for here, there, said in (
        (doubles, usual, "no other setting in the other run"),
        (usual, doubles, "double, max in the other run"),
    ):
        _, lines = against(here, there)
        text = " ".join(" ".join(lines).split())
        assert f"{said}: not comparable" in text and " against " not in text
    code, lines = against(doubles, doubles)
    assert code == 0 and any(LINE.match(line) for line in lines)


@pytest.fixture
def by_nccl(imported):
    """The document's first run."""
    return imported(DOCUMENT) / "03"


@pytest.fixture
def by_mpi(by_nccl, tmp_path):
    """The same as `mpirun -n 8 collective_perf` measures it: MPI between the host memory of ranks."""
    record = own(json.loads((by_nccl / "record.json").read_text()))
    record |= {"backend": "mpi"}
    for result in record["results"]:
        result |= {"engine": "mpi", "memory": "host", "transport": "mpi"}
    path = tmp_path / "by_mpi.record.json"
    path.write_text(json.dumps(record))
    return path


def test_collectives_of_another_library_are_not_comparable_and_that_is_said(against, by_nccl, by_mpi):
    here, there = "MPI between host memory", "NCCL between devices"
    assert against(by_mpi) == (3, [f"all_reduce_perf: {here} in this run, {there} in the other run: not comparable"])
    assert against(by_nccl, by_mpi) == (
        3,
        [f"all_reduce_perf: {there} in this run, {here} in the other run: not comparable"],
    )


def test_collectives_of_mpi_meet_their_like_and_say_that_they_are(against, by_mpi):
    code, lines = against(by_mpi, by_mpi)
    assert code == 0 and lines[0] == "all_reduce_perf, bus bandwidth of 8 ranks on one node, MPI between host memory"
    assert {LINE.fullmatch(line)[4] for line in lines[1:]} == {"1"}
