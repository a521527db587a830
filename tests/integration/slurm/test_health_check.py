"""A health check in Slurm's prolog, by the two commands of docs/recipes.md, commands: health-check.

Its nodes have no GPU behind the resource, so the host back end measures; the sick one's program has a simulated fault.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from reframe_runs import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

REPOSITORY = Path(__file__).resolve().parents[3]
SICK = "lmx2"
#: the program as the sick node has it
FAULTY = """#!/bin/sh
echo "$CUDA_VISIBLE_DEVICES" >>{seen}
[ "$(hostname)" != {sick} ] || set -- "$@" --simulate-fault {fault}
exec {program} "$@" --size 1MiB --samples 3
"""
PROGRAM, SHOW = "/opt/linkmatrix/bin/p2p_matrix --backend cuda", "/opt/linkmatrix/.venv/bin/linkmatrix show"
JOB = ("--partition=gpu", "--gpus-per-node=1", "--time=2", "--immediate=60")


def script():
    """The text of docs/recipes.md."""
    text = (REPOSITORY / "docs" / "recipes.md").read_text(encoding="utf-8")
    return re.search(r"<!-- commands: health-check, [^\n]*-->\n```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]


def with_changes(changes):
    """The same as it is here: {text: other text}, each of which it has once."""
    text = script()
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def references(record):
    """Those that a healthy node of this machine keeps to by far: its figures, ten times better or worse."""
    table = {}
    for result in record["results"]:
        bounds = [None, 9.0] if result["unit"] == "us" else [-0.9, None]
        table[result["testcase"]] = {
            f"{row}->{column}": [result["values"][r][c], *bounds, result["unit"]]
            for r, row in enumerate(result["rows"])
            for c, column in enumerate(result["columns"])
            if result["values"][r][c] is not None
        }
    return yaml.safe_dump({"intranode_p2p": {"$index": ["reference_name", "testcase"], "lab": table}})


@pytest.fixture
def program(login):
    """The program, as a run through ReFrame builds it."""
    little = ("-S", "intranode_p2p.extra_opts=--samples,3,--size,1MiB", "--keep-stage-files")
    run = login("-r", "-n", "device_to_device_memcpy_write_ce$", *little)
    assert run.code == 0, run.output
    (program,) = (run.prefix / "stage").rglob("prefix/bin/p2p_matrix")
    return program


@pytest.fixture
def prolog(cluster, slurm, program, tmp_path):
    """A function that makes that script the prolog, with a fault on the sick node; afterwards all is as before."""
    configuration = Path(cluster["SLURM_CONF"])
    folder = configuration.parents[1]
    before = configuration.read_text()
    (folder / "references").mkdir(exist_ok=True)
    record, seen, check = folder / "record.json", folder / "seen", folder / "check"
    little = ["--backend", "host", "--suite", "quick", "--size", "1MiB", "--samples", "3"]
    subprocess.run([program, *little, "--record", record], check=True, capture_output=True, timeout=300)
    (folder / "references" / "p2p.yaml").write_text(references(json.loads(record.read_text())))
    show = f'"{sys.executable}" -m linkmatrix show'
    here = {
        PROGRAM: f"{folder}/faulty --backend host",
        SHOW: f"PYTHONPATH={REPOSITORY}/reports {show}",
        "--reference hgx-h200": f"--references {folder}/references --reference lab",
        "/run/linkmatrix": f"{folder}/linkmatrix-$(hostname)",
    }

    def install(fault):
        check.write_text(with_changes(here))
        faulty = FAULTY.format(seen=seen, sick=SICK, fault=fault, program=program)
        (folder / "faulty").write_text(faulty)
        for file in (check, folder / "faulty"):
            file.chmod(0o755)
        configuration.write_text(f"{before}Prolog={check}\nPrologEpilogTimeout=120\n")
        slurm("scontrol", "reconfigure")
        return seen, folder

    yield install
    configuration.write_text(before)
    slurm("scontrol", "reconfigure")
    for node in ("lmx1", SICK):
        slurm("scontrol", "update", f"nodename={node}", "state=resume")


def test_a_healthy_node_runs_the_job_and_a_sick_one_is_drained(cluster, slurm, prolog):
    seen, folder = prolog("corrupt:cpu1")
    environment = {**os.environ, **cluster}

    def job(node):
        command = ["srun", *JOB, f"--nodelist={node}", "hostname"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)

    healthy = job("lmx1")
    said = "".join(file.read_text() for file in folder.glob("linkmatrix-lmx1-*.txt"))
    assert (healthy.returncode, healthy.stdout.strip()) == (0, "lmx1"), healthy.stderr + said
    (record,) = folder.glob("linkmatrix-lmx1-*.json")
    assert json.loads(record.read_text())["result"] == "PASS"
    assert seen.read_text().strip() in {"0", "1"}, "only the one GPU that the job has"
    sick = job(SICK)
    assert sick.returncode != 0 and SICK not in sick.stdout
    state = ("sinfo", "--noheader", f"--nodes={SICK}", "--partition=gpu", "--format=%T %E")
    wait_until(lambda: "drain" in slurm(*state), f"{SICK} is not drained")
    (record,) = folder.glob(f"linkmatrix-{SICK}-*.json")
    assert json.loads(record.read_text())["result"] == "FAIL"


def test_a_job_without_gpus_is_not_held_up(cluster, prolog):
    seen, _ = prolog("corrupt:cpu1")
    seen.unlink(missing_ok=True)
    command = ["srun", "--partition=cpu", "--time=2", "--immediate=60", f"--nodelist={SICK}", "hostname"]
    done = subprocess.run(
        command, env={**os.environ, **cluster}, capture_output=True, text=True, timeout=200, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, SICK), done.stderr
    assert not seen.exists(), "nothing was measured"


@pytest.fixture
def by_hand(program, tmp_path):
    """A function that runs the script as Slurm would for a job with these devices: its exit code and its errors.

    mount: a command that changes that folder, FOLDER, for the script alone
    """
    folder = tmp_path / "run"
    folder.mkdir()
    show = f'PYTHONPATH={REPOSITORY}/reports "{sys.executable}" -m linkmatrix show'
    little = {PROGRAM: f"{program} --backend host --size 1MiB --samples 3", SHOW: show, " --reference hgx-h200": ""}
    (tmp_path / "check").write_text(with_changes({**little, "/run/linkmatrix": f"{folder}/linkmatrix"}))

    def run(devices, mount=""):
        mounted = mount.replace("FOLDER", str(folder)) or "true"
        command = ["unshare", "--mount", "sh", "-c", f"{mounted} && exec sh {tmp_path}/check"]
        environment = {**os.environ, "SLURM_JOB_ID": "7", "CUDA_VISIBLE_DEVICES": devices}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
        return done.returncode, done.stderr

    run.folder = folder
    return run


GPU = "MIG-GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"
PARTS = [f"MIG-{number:08x}-d268-c3f3-1b07-005d5ae1dc3f" for number in range(56)]  # of 8 GPUs


@pytest.mark.parametrize("devices", [f"{GPU}/7/0", f"{GPU}/1/0,{GPU}/2/0", ",".join(PARTS)], ids=["one", "two", "56"])
def test_parts_of_gpus_drain_no_node_by_their_names(by_hand, devices):
    """Those of older drivers have slashes, and those of a whole node are longer than a file's name may be."""
    assert by_hand(devices) == (0, "")
    (record,) = by_hand.folder.glob("linkmatrix-MIG-*.json")
    assert json.loads(record.read_text())["result"] == "PASS"


READ_ONLY = "mount --bind FOLDER FOLDER && mount -o remount,bind,ro FOLDER"
FULL = "mount -t tmpfs -o size={} none FOLDER"


@pytest.mark.parametrize("mount", [READ_ONLY, FULL.format("4k"), FULL.format("8k")], ids=["read-only", "4k", "8k"])
def test_a_folder_that_takes_no_record_is_never_a_pass(by_hand, mount):
    """Though the record of an earlier job, which passed, may still be there."""
    (by_hand.folder / "linkmatrix-0.json").write_text('{"result": "PASS"}')
    assert by_hand("0", mount)[0] == 1
