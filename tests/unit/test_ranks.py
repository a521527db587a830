"""Where ranks run and what is wrong with that: lines as src/binding/binding.sh prints them."""

import subprocess
from pathlib import Path

import pytest
from linkmatrix_checks import ranks

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.reframe_ext.sessions import processes

REPOSITORY = Path(__file__).resolve().parents[2]


def line(rank, cores, host="n1", local=None, visible="-", gpus="0:0,1:1", nics="mlx5_0:0,mlx5_1:1"):
    local = rank if local is None else local
    return (
        f"binding host={host} rank={rank} local={local} cores={cores} numa=0:0-3;1:4-7 visible={visible} gpus={gpus}"
        f" nics={nics}\n"
    )


def faults(text, count=2, nodes=1, **options):
    return "; ".join(
        one.sentence for one in ranks.placement_faults(ranks.parse_bindings(text), count, nodes, **options)
    )


def test_ranks_with_cores_and_devices_of_their_own_are_fine():
    assert faults(line(0, "0-3") + line(1, "4-7"), devices=2) == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (line(0, "0-3") + line(1, "3-5"), "share cores 3"),
        (
            line(0, "0-4") + line(1, "5"),
            "rank 0 on n1 (cores 0-4, device 0, near mlx5_0 mlx5_1) spans NUMA nodes 0, 1",
        ),
        (line(0, "0-3"), "2 ranks were started, but 1 reported their cores"),
        (line(0, "0-3") + line(0, "4-7"), "2 ranks were started, but 1 reported"),
        (line(0, "0-3") + line(1, "0-3", host="n2"), "but are on 2: n1, n2"),
        (line(0, "0-3") + line(1, "-"), "rank 1 on n1 did not report its cores"),
        ("", "2 ranks were started, but 0 reported"),
        (line(0, "0", local=0) + line(1, "4", local=0), "have the same device"),
        (line(0, "0", visible="5") + line(1, "4", visible="5"), "have the same device"),
        (line(0, "0", gpus="-") + line(1, "4", gpus="-"), "sees no device"),
        (line(0, "0", local="-") + line(1, "4", local="-"), "sees no device"),
    ],
)
def test_what_is_wrong_is_a_sentence(text, sentence):
    assert sentence in faults(text, devices=2)


def test_two_ranks_share_the_only_device_of_a_node():
    text = line(0, "0", gpus="0:0") + line(1, "1", visible="0", gpus="0:0")
    assert "same device" in faults(line(0, "0", visible="0") + line(1, "1", visible="0"), devices=2)
    assert faults(line(0, "0", visible="0") + line(1, "1", visible="0"), devices=1) == ""
    assert faults(text, devices=1) == ""


def test_a_partition_may_allow_what_a_workstation_needs():
    text = line(0, "0-7") + line(1, "0-7")
    assert faults(text, shared_cores=True, spans_numa=True) == ""
    assert "spans" in faults(text, shared_cores=True)
    assert "share" in faults(text, spans_numa=True)


def test_each_rank_may_see_one_device_that_the_launcher_chose():
    text = line(0, "0", visible="0") + line(1, "4", visible="1")
    assert [one.device for one in ranks.parse_bindings(text)] == ["0", "1"]
    assert faults(text, devices=2) == ""


def test_options_of_the_launcher_may_have_the_layout_in_them():
    extras = {"rank_options": ["--map-by", "ppr:{num_tasks_per_node}:node"]}
    layout = processes.layout_of(10, 4)
    assert layout == {"num_nodes": 3, "num_tasks": 10, "num_tasks_per_node": 4}
    assert processes.launch_options(extras, "rank_options", layout) == ["--map-by", "ppr:4:node"]
    assert processes.launch_options(extras, "process_options", layout) == []


@pytest.mark.parametrize("option", ["ppr:{tasks}:node", "ppr:{}:node", "ppr:{num_tasks"])
def test_anything_else_in_braces_is_refused_with_what_may_stand_there(option):
    with pytest.raises(ValueError, match=r"extras\['rank_options'\] .* contain only \{num_nodes\}, \{num_tasks\}, "):
        processes.launch_options({"rank_options": [option]}, "rank_options", processes.layout_of(4, 2))


PROGRAM = REPOSITORY / "src" / "binding" / "binding.sh"


def test_the_program_says_where_this_process_runs():
    done = subprocess.run(["taskset", "-c", "0", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    (found,) = ranks.parse_bindings(done.stdout)
    assert found.cores == {0}
    assert found.nodes == [0] or not found.numa


def test_the_program_becomes_another_one_after_it_has_said_it_in_a_file(tmp_path):
    then = ["sh", "-c", 'echo "$$: $1"; exit 3', "sh", "two words"]
    words = ["taskset", "-c", "0", PROGRAM, "--into", tmp_path, *then]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        said, _ = process.communicate(timeout=60)
    assert (said, process.returncode) == (f"{process.pid}: two words\n", 3)
    (file,) = tmp_path.iterdir()
    (found,) = ranks.parse_bindings(file.read_text())
    assert found.cores == {0}


def measured(**cores):
    """A record whose ranks may use these cores: n1_rank0="0-3"."""
    uses = [{"label": label.replace("_", ":"), "of": "cpu", "cores": text} for label, text in cores.items()]
    return {"others": None, "results": [{"others": {"uses": uses}}]}


@pytest.mark.parametrize(
    ("cores", "said"),
    [
        (
            {"n1_rank0": "0", "n1_rank1": "0"},
            ["2 ranks on core 0 (n1:rank0, n1:rank1): bind each rank to its own core"],
        ),
        ({"n1_rank0": "0-1", "n1_rank1": "0-1", "n1_rank2": "1"}, ["3 ranks on cores 0-1"]),
        ({"n1_rank0": "0", "n2_rank1": "0"}, []),
        ({"n1_rank0": "0", "n1_rank1": "1"}, []),
        ({"n1_rank0": "0-3", "n1_rank1": "0-3"}, []),
        ({"n1_rank0": "", "n1_rank1": ""}, []),
    ],
)
def test_more_ranks_than_cores_are_told_by_the_record_and_are_no_fault_of_the_machine(cores, said):
    found = ranks.crowded_faults(measured(**cores))
    assert len(found) == len(said) and all(one in two.sentence for one, two in zip(said, found, strict=True))
    assert {one.verdict for one in found} <= {Verdict.INCOMPLETE}
