import json
import os
import re
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.site import machine, nccl, system_files

# what stands in for nvidia-smi; `topo -m` underlines its head line and ends with the NICs and a legend
FAKE_NVIDIA_SMI = """#!/bin/sh
case "$*" in
--query-gpu=*) cat "$FAKE_NVIDIA_SMI/query" ;;
"topo -m") cat "$FAKE_NVIDIA_SMI/topo" ;;
*) exit 6 ;;
esac
"""
TOPO_END = "NIC0\tPIX\tSYS\tPIX\t X \n\nLegend:\n\n  X    = Self\n"


def topo(*rows):
    head = "\t\x1b[4m" + "\t".join(f"GPU{index}" for index in range(len(rows))) + "\tNIC0\tCPU Affinity\x1b[0m\n"
    return head + "".join(f"GPU{i}\t" + "\t".join(row) + "\tPIX\t0-55\n" for i, row in enumerate(rows)) + TOPO_END


FULL = topo([" X ", "NV18", "NV18"], ["NV18", " X ", "NV18"], ["NV18", "NV18", " X "])
QUERY = "".join(f"{i}, NVIDIA H200, GPU-{i}, 00000000:{i}B:00.0, 9.0\n" for i in range(3))


@pytest.fixture
def fake_nvidia_smi(tmp_path, monkeypatch):
    """A machine whose PATH has nothing but nvidia-smi, with these answers, and the named commands."""

    def install(query=QUERY, topology=FULL, script=FAKE_NVIDIA_SMI, commands=()):
        folder = tmp_path / "path"
        folder.mkdir()
        for name, text in [("nvidia-smi", script), *((name, "#!/bin/sh\n") for name in commands)]:
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        (tmp_path / "query").write_text(query)
        (tmp_path / "topo").write_text(topology)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin{os.pathsep}/usr/bin")
        monkeypatch.setenv("FAKE_NVIDIA_SMI", str(tmp_path))
        monkeypatch.setattr(nccl, "SYSTEM", ())
        for name in nccl.VARIABLES:
            monkeypatch.delenv(name, raising=False)
        only = {"nvidia-smi", *commands}
        monkeypatch.setattr(machine.shutil, "which", lambda name: str(folder / name) if name in only else None)

    return install


@pytest.fixture
def config(tmp_path):
    (tmp_path / "config").mkdir()
    return tmp_path / "config"


def systems(config):
    scope = {}
    exec(next((config / "systems").glob("*.py")).read_text(), scope)
    return scope["system"], scope["environments"]


MIG = FAKE_NVIDIA_SMI.replace(
    "--query-gpu=*)", """--query-gpu=mig.mode.current*) printf 'Enabled\\n[N/A]\\nDisabled\\n' ;;\n--query-gpu=*)"""
)


def test_a_gpu_in_mig_mode_is_not_counted_and_a_comment_says_so(fake_nvidia_smi, config, capsys):
    """Its slices have no links to other GPUs."""
    fake_nvidia_smi(topology=topo([" X ", "SYS", "SYS"], ["SYS", " X ", "NV18"], ["SYS", "NV18", " X "]), script=MIG)
    assert cli.main(["detect", "--system", "my-node", "--config", str(config)]) == 0
    devices = json.loads((config / "topology" / "my-node-gpu" / "devices.json").read_text())
    assert [one["num_devices"] for one in devices] == [2]
    assert systems(config)[0]["partitions"][0]["extras"]["link_class"] == "NV18"
    assert "# 1 GPU is in MIG mode and not counted" in (config / "systems" / "my_node.py").read_text()


def test_gpus_and_their_common_link_class_are_promised(fake_nvidia_smi, config, capsys):
    fake_nvidia_smi()
    assert cli.main(["detect", "--system", "my-node", "--config", str(config)]) == 0
    devices = json.loads((config / "topology" / "my-node-gpu" / "devices.json").read_text())
    assert devices == [{"type": "gpu", "arch": "sm_90", "model": "NVIDIA H200", "num_devices": 3}]
    system, environments = systems(config)
    partition = system["partitions"][0]
    assert (config / "systems" / "my_node.py").is_file()
    assert (system["name"], partition["name"]) == ("my-node", "gpu")
    assert partition["extras"] == {"link_class": "NV18"}
    assert partition["features"] == ["gpu", "cuda"]
    assert partition["environs"] == [environment["name"] for environment in environments]
    assert environments[0]["extras"] == {"cuda_arch": "90"}
    assert '"link_class": "NV18"' in capsys.readouterr().out


@pytest.mark.parametrize(
    "topology",
    [
        topo([" X ", "NV18", "SYS"], ["NV18", " X ", "SYS"], ["SYS", "SYS", " X "]),
        topo([" X ", "NV18"], ["NV18", " X "]),
        topo([" X ", "NV18", "NV18"], ["NV12", " X ", "NV18"], ["NV18", "NV18", " X "]),
        "",
    ],
    ids=["two classes", "a GPU is missing", "the two directions differ", "no answer"],
)
def test_nothing_is_promised_about_links_that_are_not_all_alike(fake_nvidia_smi, topology):
    fake_nvidia_smi(topology=topology)
    assert machine.machine().link_class is None


def with_nccl(prefix, header="nccl.h", library="lib/libnccl.so.2"):
    """A prefix with these files of NCCL."""
    for file in filter(None, [header and f"include/{header}", library]):
        (prefix / file).parent.mkdir(parents=True, exist_ok=True)
        (prefix / file).touch()
    return prefix


@pytest.mark.parametrize("name", nccl.VARIABLES)
def test_nccl_beside_gpus_is_promised_and_where_it_is(fake_nvidia_smi, config, tmp_path, monkeypatch, name):
    fake_nvidia_smi()
    monkeypatch.setenv(name, str(with_nccl(tmp_path / "nccl")))
    assert cli.main(["detect", "--system", "my-node", "--config", str(config)]) == 0
    system, environments = systems(config)
    assert system["partitions"][0]["features"] == ["gpu", "cuda", "nccl"]
    assert environments[0]["features"] == ["cuda", "nccl"]
    assert environments[0]["extras"] == {"cuda_arch": "90", "nccl_root": str(tmp_path / "nccl")}


@pytest.mark.parametrize("library", ["lib/libnccl.so", "lib64/libnccl.so.2", "lib/x86_64-linux-gnu/libnccl.so.2.28"])
def test_nccl_in_the_systems_folders_is_found_by_cmake_itself(fake_nvidia_smi, tmp_path, monkeypatch, library):
    fake_nvidia_smi()
    monkeypatch.setattr(nccl, "SYSTEM", (str(with_nccl(tmp_path / "usr", library=library)),))
    assert machine.environment_extras(machine.machine()) == '{"cuda_arch": "90"}'
    assert machine.machine().nccl == str(tmp_path / "usr")


@pytest.mark.parametrize("query", ["No devices were found\n", "0, NVIDIA H200, GPU-1, 0000:1B:00.0, [N/A]\n"])
def test_an_answer_that_is_not_understood_is_an_error(fake_nvidia_smi, config, linkmatrix, query):
    fake_nvidia_smi(query=query)
    assert linkmatrix.err("detect", "--config", config, code=4).count("\n") == 1
    assert list(config.iterdir()) == []


def test_a_driver_that_fails_is_not_a_machine_without_gpus(fake_nvidia_smi, config, linkmatrix):
    fake_nvidia_smi(script="#!/bin/sh\necho 'driver/library version mismatch' >&2\nexit 18\n")
    assert "driver/library version mismatch" in linkmatrix.err("detect", "--config", config, code=4)


def test_a_driver_that_hangs_is_given_up(fake_nvidia_smi, monkeypatch):
    fake_nvidia_smi(script="#!/bin/sh\nexec sleep 30\n")
    monkeypatch.setattr(machine, "TIMEOUT_S", 0.2)
    with pytest.raises(OSError, match="did not answer"):
        machine.machine()


@pytest.mark.parametrize(
    ("commands", "scheduler", "launcher"),
    [((), "local", "local"), (("mpirun", "mpicxx"), "local", "mpirun"), (("sbatch",), "slurm", "srun")]
    + [(("qsub",), "pbs", "mpirun")],
)
def test_scheduler_and_launcher_are_those_on_path(fake_nvidia_smi, config, commands, scheduler, launcher):
    fake_nvidia_smi(commands=commands)
    machine.write(machine.files(machine.machine(), config, None, None), False, print)
    partition = systems(config)[0]["partitions"][0]
    assert (partition["scheduler"], partition["launcher"]) == (scheduler, launcher)
    # a scheduler gives no GPU to a job that does not ask for one
    assert ("resources" in partition) == (scheduler != "local")


@pytest.mark.parametrize(("commands", "names"), [((), None), (("sbatch",), ["gcc/13"])])
def test_jobs_load_the_modules_of_this_shell_and_programs_without_a_scheduler_run_in_it(
    fake_nvidia_smi, config, monkeypatch, commands, names
):
    fake_nvidia_smi(commands=commands)
    monkeypatch.setenv("LOADEDMODULES", "gcc/13")
    monkeypatch.setenv("LMOD_CMD", "/lmod")
    machine.write(machine.files(machine.machine(), config, None, None), False, print)
    system, environments = systems(config)[0], system_files.load(next((config / "systems").glob("*.py")), config)[1]
    assert (system.get("modules_system"), environments[0].get("modules")) == (names and "lmod", names)


@pytest.mark.parametrize("user", [0, 1000])
@pytest.mark.parametrize(("cores", "gpus"), [(1, 0), (2, 0), (2, 3), (4, 3)])
def test_open_mpi_may_start_ranks_of_root_and_more_ranks_than_cores(monkeypatch, config, user, cores, gpus):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    found = machine.Machine("vm", cores, 1, machine.gpus_in(QUERY)[:gpus], "NV18", "local", "mpirun", True)
    machine.write(machine.files(found, config, None, None), False, print)
    partition = systems(config)[0]["partitions"][0]
    names = {name for name, _ in partition.get("env_vars", [])}
    few_cores = cores < max(2, gpus)
    assert ("OMPI_ALLOW_RUN_AS_ROOT" in names) == (user == 0)
    assert ("OMPI_MCA_rmaps_base_oversubscribe" in names) == few_cores
    assert partition["extras"].get("shared_cores", False) == few_cores


def test_a_file_that_is_there_is_never_overwritten(fake_nvidia_smi, config, linkmatrix):
    fake_nvidia_smi()
    mine = config / "topology" / "here-gpu" / "devices.json"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    command = ["detect", "--system", "here", "--config", str(config)]
    said = linkmatrix.err(*command)
    assert str(mine) in said and "--force" in said and said.count("\n") == 1
    assert mine.read_text() == "mine"
    assert not (config / "systems").exists()
    assert cli.main([*command, "--force"]) == 0
    assert json.loads(mine.read_text())[0]["num_devices"] == 3


def test_a_dry_run_shows_and_writes_nothing(fake_nvidia_smi, config, linkmatrix):
    fake_nvidia_smi()
    assert "NVIDIA H200" in linkmatrix.out("detect", "--system", "here", "--config", config, "--dry-run")
    assert list(config.iterdir()) == []


@pytest.mark.parametrize("name", ["../../etc", "a b", "", "generic", "-x", "a:b", "a\n", "4gpu"])
def test_names_that_reframe_or_a_folder_cannot_have_are_refused(name):
    with pytest.raises(BadInput, match="--system"):
        machine.checked_name(name, "--system")


@pytest.mark.parametrize(
    ("host", "name"),
    [("n1.example", "n1"), ("4f3a9c01d2e5", "machine-4f3a9c01d2e5"), ("-", "machine"), ("_x", "x"), ("é", "machine")],
)
def test_a_host_whose_name_reframe_does_not_take_has_a_system_all_the_same(host, name):
    assert machine.host_system_name(host, "machine") == name == machine.checked_name(name, "--system")


def test_no_name_of_a_gpu_or_host_becomes_code(config):
    evil = 'H200"""\n\\{{ 1 }}" + exit()  # \x7f'
    gpus = tuple(machine.Gpu(i, evil, "u", "p", "9.0") for i in range(2))
    found = machine.Machine(evil, 8, 1, gpus, evil, "local", "local", True)
    machine.write(machine.files(found, config, None, None), False, print)
    system, _ = systems(config)
    assert system["descr"] == f"2 {evil}"
    assert system["partitions"][0]["extras"]["link_class"] == evil
    assert re.fullmatch(system["hostnames"][0], evil)


def test_a_machine_without_gpus_has_no_devices(fake_nvidia_smi, config, monkeypatch):
    monkeypatch.setattr(machine.shutil, "which", lambda name: None)
    machine.write(machine.files(machine.machine(), config, "plain", None), False, print)
    assert json.loads(Path(config / "topology" / "plain-cpu" / "devices.json").read_text()) == []
    assert systems(config)[0]["partitions"][0]["features"] == []
