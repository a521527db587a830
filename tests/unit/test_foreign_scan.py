"""Foreign texts: what a whole text may hold, which lines begin something, and topologies of GPUs and NICs."""

import pytest
from foreign_texts import DOCUMENTS, FOREIGN

from linkmatrix.errors import BadInput
from linkmatrix.foreign import scan
from linkmatrix.foreign.scan import read_text
from linkmatrix.record import link_classes

TABLE = "Running device_to_device_memcpy_write_ce.\nmemcpy (GB/s)\n 0 1\n 0 N/A 1.00\n 1 2.00 N/A\n"
NOTHING = f"it contains no (?:valid )?table of {scan.PROGRAMS}"
COLUMNS = "\n   D\\D     0      1\n"  # of the CUDA sample, whose head line is missing


@pytest.mark.parametrize("text", ["no table\n", "nvbandwidth Version: v0.8\n"])
def test_a_text_without_a_table_is_refused(text):
    with pytest.raises(BadInput, match=f"^{NOTHING}: give the program's whole output$"):
        read_text(text)


def test_a_text_of_which_nothing_can_be_believed_is_refused_with_the_reason():
    why = r" \(line 2: these columns have no known head line: the table is ignored\)"
    with pytest.raises(BadInput, match=f"^{NOTHING}{why}$"):
        read_text(COLUMNS)


def test_columns_without_a_head_line_are_said_by_the_run_before_or_after_them():
    said = "these columns have no known head line: the table is ignored"
    (run,) = read_text(TABLE + COLUMNS)
    assert run.problems == [f"line 7: {said}"]
    (run,) = read_text(COLUMNS + TABLE)
    assert run.problems == [f"line 2: {said}"] and len(run.tables) == 1


@pytest.mark.parametrize("before", ["", "   \n", " " * 150 + "\n", " " * 250 + "x\n", "x" * 30_000 + "\n", "\n" * 500])
def test_lines_that_begin_nothing_are_passed_over(before):
    (run,) = read_text(before + TABLE)
    assert [table.testcase for table in run.tables] == ["device_to_device_memcpy_write_ce"]


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("$ ./nvbandwidth -t 5", "./nvbandwidth -t 5"),
        ("root@n1:~# CUDA_VISIBLE_DEVICES=0,1 nvbandwidth", "CUDA_VISIBLE_DEVICES=0,1 nvbandwidth"),
        ("mpirun -n 2 ./osu_bw -m 1:4", "mpirun -n 2 ./osu_bw -m 1:4"),
        ("nvbandwidth  ", "nvbandwidth"),
        ("the nvbandwidth of today", None),
    ],
)
def test_the_line_that_started_the_program_is_kept(line, command):
    (run,) = read_text(f"{line}\n{TABLE}")
    assert run.command == command


def topology_of(text):
    (run,) = read_text(text)
    return run.topology


@pytest.mark.parametrize("name", [*link_classes.PCI_CLASSES, *(f"{name}4" for name in link_classes.DIRECT_TYPES)])
def test_a_topology_of_every_link_class_is_read(name):
    topology = topology_of(f"\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \t{name}\t0-9\nGPU1\t{name}\t X \t0-9\n")
    assert topology.faults == () and set(topology.link_class.values()) == {name}


PPUS = "\tPPU0\tPPU1\tCPU Affinity\tNUMA Affinity\nPPU0\t X \tICN7\t0-9\t0\nPPU1\tPHB\t X \t10-19\t1\n"


def test_a_topology_of_another_vendor_has_its_links_and_labels_of_gpus():
    topology = topology_of(PPUS)
    assert topology.labels == ("gpu0", "gpu1") and topology.numa == {"gpu0": 0, "gpu1": 1}
    assert topology.link_class == {("gpu0", "gpu1"): "ICN7", ("gpu1", "gpu0"): "PHB"}
    assert topology.links == {("gpu0", "gpu1"): 7, ("gpu1", "gpu0"): 0}
    assert topology.line == 1 and topology.faults == (
        "line 1: PPU0 to PPU1 is ICN7, but PPU1 to PPU0 is PHB: the text is damaged",
    )


def test_numa_nodes_are_read_only_where_their_column_is_printed_and_whole():
    assert topology_of(PPUS.replace("\tNUMA Affinity", "")).numa == {}
    assert topology_of(PPUS.replace("10-19\t1\n", "10-19\tN/A\n")).numa == {"gpu0": 0}
    assert topology_of(PPUS.replace("\t10-19\t1\n", "\t10-19\n")).numa == {"gpu0": 0}
    assert topology_of(PPUS.removesuffix("\n")).numa == {"gpu0": 0}  # of 12 it may be the 1


def test_a_last_row_whose_class_could_be_cut_is_not_believed():
    text = "\tGPU0\tGPU1\nGPU0\t X \tNV1\nGPU1\tNV1\t X \n"
    assert topology_of(text).faults == ()
    cut = topology_of("\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tX\tNV1")
    assert cut.link_class == {("gpu0", "gpu1"): "NV18"}
    cut = topology_of("\tGPU1\tGPU0\nGPU1\t X \tNV18\nGPU0\tNV1\tX")
    assert cut.faults == (
        "line 3: row GPU0 does not fit 2 columns: the row is ignored",
        "line 1: missing rows: GPU0",
    )


def test_names_of_nics_are_read_from_the_legend_if_it_is_near():
    text = "\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \n"
    legend = "  NIC0: mlx5_7\n"
    assert topology_of(text + legend).nic_class == {("gpu0", "mlx5_7"): "PIX"}
    assert topology_of(text + "\n" * 39 + legend).nic_class == {("gpu0", "mlx5_7"): "PIX"}
    assert topology_of(text + "\n" * 40 + legend).nic_class == {("gpu0", "NIC0"): "PIX"}


@pytest.mark.parametrize(
    "text",
    [
        "\tNIC0\tNIC1\nNIC0\t X \tPIX\nNIC1\tPIX\t X \n",
        "\tGPU0\tGPU0\nGPU0\t X \tNV4\nGPU0\tNV4\t X \n",
    ],
)
def test_without_gpus_or_with_one_twice_it_is_no_topology(text):
    with pytest.raises(BadInput, match=NOTHING):
        read_text(text)


@pytest.mark.parametrize("what", ["/", "$ /", "mpirun /", "A=b ", "osu_"])
def test_lines_of_nothing_but_beginnings_of_commands_come_to_an_end(what):
    line = (what * scan.MOST_HEAD)[: scan.MOST_HEAD - 1] + "\n"
    assert len(read_text(line * 50 + TABLE)) == 1  # such a line of slashes took ten seconds


def test_a_head_is_what_a_reader_begins_with():
    patterns = [
        head for head, reader in scan.FORMATS if reader not in (scan.headless_columns, scan.nccl.row_without_head)
    ]
    lines = {line for text in (*FOREIGN.values(), *DOCUMENTS.values()) for line in text.splitlines()}
    assert not {line for line in lines if scan.is_head(line) != any(one.match(line) for one in patterns)}
    assert 50 < sum(map(scan.is_head, lines)) < len(lines) / 2
