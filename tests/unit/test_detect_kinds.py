"""GPUs in Slurm's words: MIG slices, architectures, and a system partition per kind of node."""

import os

import pytest
from scheduler_answers import DATA, recorded

from linkmatrix.site import configured, gres, node_kinds, nodes, partitions, slurm_blocks, system_files


def found_in(folder, without=()):
    """The cluster of these answers."""
    return partitions.SCHEDULERS["slurm"].ask(recorded(folder, without))


def entries_of(found, tmp_path):
    """{partition: its entry} and the environments of the system file, as linkmatrix loads it."""
    file = tmp_path / "mine.py"
    file.write_text(partitions.system_file(found, "mine"))
    system, environments = system_files.load(file, tmp_path)
    return {one["name"]: one for one in system["partitions"]}, environments


@pytest.fixture(autouse=True)
def no_modules(monkeypatch):
    """A shell without modules, so that the files are the same everywhere."""
    for name in ("LOADEDMODULES", "LMOD_CMD", "MODULES_CMD"):
        monkeypatch.setenv(name, "")


@pytest.mark.parametrize("folder", ["slurm-mig", "slurm-kinds"])
def test_the_system_file_is_the_stored_one(folder):
    file, text = DATA / folder / "system.txt", partitions.system_file(found_in(folder), folder)
    if os.environ.get("LINKMATRIX_UPDATE_GOLDEN"):
        file.write_text(text)
    assert file.read_text() == text, "see LINKMATRIX_UPDATE_GOLDEN in tests/data/README.md"


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gpu:gb200:4", (4, ("gb200",), 0)),
        ("gpu:2", (2, (), 0)),
        ("gpu:tesla:2(S:0,1),mps:tesla:200(S:0,1)", (2, ("tesla",), 0)),
        ("gpu:h100:2(S:0),gpu:h100_4g.40gb:2(S:0),gpu:h100_1g.10gb:6(S:0)", (2, ("h100",), 8)),
        ("gpu:1g.10gb+me:1,gpu:a100_3g.20gb:2", (0, (), 3)),
        ("gpu:h100:4(S:0-1),shard:h100:240(S:0-1),gpu:h100:h100:4", (4, ("h100",), 0)),
        ("gpu:tesla:2,gpu:kepler:2", (4, ("tesla", "kepler"), 0)),
        ("gpu:a100_1g5gb:7,gpu:a100-mig-3g_20gb:2", (0, (), 9)),
        ("gpu:a100:0", (0, (), 0)),
        ("gpu:h200:8(S:0-1),tmpdisk:100", (8, ("h200",), 0)),
        ("nvme:1,gpu:a100:4,gpu:mig-1g.10gb:7(S:0)", (4, ("a100",), 7)),
        ("gpu", (1, (), 0)),
        ("gpu:h200", (1, ("h200",), 0)),
        ("tmpdisk:100", (0, (), 0)),
        ("(null)", (0, (), 0)),
    ],
)
def test_gpus_types_and_slices_of_a_gres(text, gpus):
    assert gres.gpus_in(text) == gpus


@pytest.mark.parametrize(
    ("gpu_type", "arch"),
    [
        ("gb200", "sm_100"),
        ("nvidia_gb300", "sm_103"),
        ("nvidia_h100_80gb_hbm3", "sm_90"),
        ("tesla_v100-sxm2-32gb", "sm_70"),
        ("rtx_a6000", "sm_86"),
        ("tesla", ""),
        ("a100_or_h100", ""),
    ],
)
def test_the_architecture_of_a_type(gpu_type, arch):
    assert gres.architecture(gpu_type) == arch


def test_mig_slices_are_no_gpus_and_a_job_requests_whole_ones(tmp_path):
    """A request for 2 GPUs of no type could get two slices."""
    found = found_in("slurm-mig")
    entries, environments = entries_of(found, tmp_path)
    assert entries["gpu"]["devices"] == [{"type": "gpu", "arch": "sm_90", "num_devices": 2}]
    assert entries["gpu"]["resources"][0]["options"] == ["--gpus-per-node=nvidia_h100_80gb_hbm3:{num_gpus_per_node}"]
    assert entries["dynamic"]["devices"] == [{"type": "gpu", "num_devices": 1}]
    assert entries["mps"]["devices"] == [{"type": "gpu", "num_devices": 2}]
    assert "8 MIG slices per node are not counted as GPUs" in partitions.system_file(found, "mine")
    assert "extras" not in environments[-1], "the architectures of dynamic and mps are unknown"


def test_a_request_that_slurm_may_fill_with_slices_is_noted():
    """A request names one type, and these nodes have two."""
    note = "jobs may get MIG slices, because a request cannot name several types of GPUs"
    slices = "gpu:a100_1g.5gb:7"
    for text, noted in ((f"gpu:a100:1,gpu:h100:1,{slices}", True), (f"gpu:a100:2,{slices}", False), (slices, False)):
        (one,) = composed(f"u|2|idle|64|{text}|(null)\n", "u").partitions
        assert (note in one.remarks) is noted


def test_without_features_and_lists_the_type_of_the_gpus_selects_a_kind(tmp_path):
    entries, _ = entries_of(found_in("slurm-mig"), tmp_path)
    h200 = entries["shared-nvidia_h200"]
    assert h200["devices"][0]["num_devices"] == 8
    assert entries["shared-nvidia_h100_80gb_hbm3"]["devices"][0]["num_devices"] == 4
    assert h200["resources"][0]["options"] == ["--gpus-per-node=nvidia_h200:{num_gpus_per_node}"]
    assert h200["extras"]["gpus_in_every_job"] is True and h200["extras"]["nodes"] == 2
    assert "shared" not in entries


def test_a_feature_selects_a_kind(tmp_path):
    entries, _ = entries_of(found_in("slurm-kinds"), tmp_path)
    assert entries["batch-h200"]["access"] == ["--partition=batch", "--no-requeue", "--constraint=h200"]
    assert entries["batch-a100"]["access"][-1] == "--constraint=a100"
    assert entries["batch-a100"]["descr"] == "10 nodes of 96 cores, 4 GPUs (gpu:a100:4(S:0-1), a100,hdr)"
    assert entries["batch-a100"]["features"] == ["gpu", "cuda", "mpi", "crossnode"]
    down = {one.name: one.down for one in found_in("slurm-kinds").partitions}
    assert (down["batch-a100"], down["batch-h200"]) == (2, 0)


def test_a_list_of_other_nodes_selects_a_kind_that_has_no_feature(tmp_path):
    entries, _ = entries_of(found_in("slurm-kinds"), tmp_path)
    assert {name: one["access"][-1] for name, one in entries.items() if name.startswith("old")} == {
        "old-a100-4": "--exclude=o[4-7],c[1-2]",
        "old-a100-2": "--exclude=o[1-3],c[1-2]",
        "old-cpu": "--exclude=o[1-7]",
    }
    assert "devices" not in entries["old-cpu"] and entries["old-cpu"]["features"] == ["mpi", "crossnode"]


def test_kinds_that_nothing_selects_stay_one_partition_without_gpus(tmp_path):
    found = found_in("slurm-kinds", without=["node_list.txt"])
    entries, _ = entries_of(found, tmp_path)
    assert entries["old"]["features"] == ["mpi", "crossnode"]
    assert "write one partition per node type" in partitions.system_file(found, "mine")


def composed(nodes_text, *names, node_list=None):
    """The cluster of these answers of sinfo and `scontrol show node`, with partitions of these names."""
    texts = {
        **({"scontrol show node": node_list} if node_list else {}),
        "sinfo": nodes_text,
        "scontrol show config": "AccountingStorageType = accounting_storage/none\nSelectType = select/cons_tres\n",
        "scontrol show partition": "".join(f"PartitionName={name} State=UP MaxTime=UNLIMITED\n" for name in names),
    }

    def answer(command):
        line = " ".join(command)
        for start, text in texts.items():
            if line.startswith(start):
                return text
        raise OSError(f"{command[0]} does not answer")

    return partitions.SCHEDULERS["slurm"].ask(answer)


def test_a_kind_has_another_name_than_a_partition_of_its_cluster(tmp_path):
    """Of two partitions with one name, ReFrame reaches only one."""
    mixed = "gpu|4|idle|64|gpu:a100:4|a100\ngpu|4|idle|64|gpu:h100:8|h100\n"
    entries, _ = entries_of(composed(f"{mixed}gpu-a100|2|idle|64|gpu:a100:4|a100\n", "gpu", "gpu-a100"), tmp_path)
    assert {name: one["access"][0] for name, one in entries.items()} == {
        "gpu-a100-2": "--partition=gpu",
        "gpu-h100": "--partition=gpu",
        "gpu-a100": "--partition=gpu-a100",
    }


NODE = "NodeName={} Gres={} State=IDLE Partitions=old Reason={}\n"
OF_OLD = "old|2|idle|64|gpu:a100:4|(null)\nold|1|idle|64|gpu:a100:2|(null)\n"


def test_the_reason_of_a_drained_node_is_no_description_of_the_node(tmp_path):
    reason = "was Gres=gpu:a100:2 Partitions=x"
    rows = [("n1", "gpu:a100:4", ""), ("n2", "gpu:a100:4", reason), ("n3", "gpu:a100:2", "")]
    found = composed(OF_OLD, "old", node_list="".join(NODE.format(*row) for row in rows))
    entries, _ = entries_of(found, tmp_path)
    assert entries["old-a100-2"]["access"][-1] == "--exclude=n[1-2]"


def test_a_list_without_all_nodes_selects_no_kind(tmp_path):
    """A node that the list lacks could get jobs of each kind."""
    listed = NODE.format("n1", "gpu:a100:4", "") + NODE.format("n3", "gpu:a100:2", "")
    entries, _ = entries_of(composed(OF_OLD, "old", node_list=listed), tmp_path)
    assert list(entries) == ["old"] and "devices" not in entries["old"]


def test_programs_for_grace_processors_are_built_on_a_node(tmp_path):
    """A login node is often another architecture, whose programs a Grace processor does not start."""
    types = {"a": "nvidia_gb200", "b": "gh200", "c": "h200"}
    text = "".join(f"{name}|4|idle|72|gpu:{one}:4|(null)\n" for name, one in types.items())
    entries, _ = entries_of(composed(text, *types), tmp_path)
    assert [one["extras"].get("build_locally") for one in entries.values()] == [False, False, None]


def test_gb200_names_its_architecture(tmp_path):
    entries, environments = entries_of(found_in("slurm-kinds"), tmp_path)
    assert entries["rack"]["devices"] == [{"type": "gpu", "arch": "sm_100", "num_devices": 4}]
    assert environments[-1]["extras"] == {"cuda_arch": "80,90,100"}


def test_blocks_are_noted_and_are_groups_of_nodes():
    text = (DATA / "slurm-kinds" / "topology.txt").read_text()
    assert slurm_blocks.blocks_in(text) == {"rack1": "rack1-n[01-18]", "rack2": "rack2-n[01-18]"}
    found = found_in("slurm-kinds")
    assert found.notes[0].startswith(
        "Slurm reports 2 blocks of nodes, which are usually NVLink domains: rack1: rack1-n"
    )
    groups = configured.scheduler_groups({"scheduler": "slurm"}, recorded("slurm-kinds"))
    assert len(groups) == 36 and groups["rack2-n07"] == "rack2"
    file = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n3\nBlockSizes=2,4\n"
    assert configured.parse_groups(file, "topology.conf") == {"n1": "b1", "n2": "b1", "n3": "b2"}


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n01", "n02", "n03", "n07"], "n[01-03,07]"),
        (["login"], "login"),
        (["n9", "n10"], "n9,n10"),
        (["a1", "b1-ib2", "a2"], "a[1-2],b1-ib2"),
    ],
)
def test_lists_of_nodes_are_short_and_the_same_nodes(names, text):
    assert node_kinds.compressed(names) == text
    assert set(nodes.expand_names(text)) == set(names)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-p batch"], ["h1", "h2", "a1"]),
        (["--partition=batch", "--constraint=h200"], ["h1", "h2"]),
        (["--partition=batch", "--exclude=h[1-2]"], ["a1"]),
        (["--partition=batch", "--gpus-per-node=a100:{num_gpus_per_node}"], ["a1"]),
        (["--partition=batch", "--gres=gpu:h200:{num_gpus_per_node}"], ["h1", "h2"]),
        (["--partition=batch", "--gpus-per-node={num_gpus_per_node}"], ["h1", "h2", "a1"]),
        (["--partition=batch", "--constraint=[h200|a100]"], ["h1", "h2", "a1"]),
        (["--partition=batch", "--gres=tmpdisk:100"], ["h1", "h2", "a1"]),
        (["--partition=batch", "--gres=nvme:1,gpu:h200:8"], ["h1", "h2"]),
        (["--partition=batch", "--gpus-per-node=a100_1g.5gb:2"], ["a1"]),
    ],
)
def test_the_nodes_of_a_kind_are_those_that_its_options_select(options, expected):
    def answer(command):
        if "%E" in command[-1]:
            return "".join(f"batch|{name}|idle|none\n" for name in ("h1", "h2", "a1"))
        return "h1|h200,ndr|gpu:h200:8(S:0-1)\nh2|h200|gpu:h200:8\na1|a100|gpu:a100:4,gpu:a100_1g.5gb:7\n"

    assert list(nodes.availability("slurm", options, answer)) == expected
