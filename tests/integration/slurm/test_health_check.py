"""A health check in Slurm's prolog, by the two commands of README.md, commands: health-check.

Its nodes have no GPU behind the resource, so the host back end measures; the sick one's program has a simulated fault.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

REPOSITORY = Path(__file__).resolve().parents[3]
SICK = "lmx2"
#: the program as the sick node has it
FAULTY = """#!/bin/sh
echo "$CUDA_VISIBLE_DEVICES" >>{seen}
[ "$(hostname)" != {sick} ] || set -- "$@" --simulate-fault {fault}
exec {program} "$@" --size 1MiB --samples 3
"""
JOB = ("--partition=gpu", "--gpus-per-node=1", "--time=2", "--immediate=60")


def script():
    """The text of README.md."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    return re.search(r"<!-- commands: health-check, [^\n]*-->\n```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]


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
    """A function that makes README's script the prolog, with a fault on the sick node; afterwards all is as before."""
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
        "/opt/linkmatrix/bin/p2p_matrix --backend cuda": f"{folder}/faulty --backend host",
        "/opt/linkmatrix/.venv/bin/linkmatrix show": f"PYTHONPATH={REPOSITORY}/reports {show}",
        "--reference hgx-h200": f"--references {folder}/references --reference lab",
        "/run/linkmatrix": f"{folder}/linkmatrix-$(hostname)",
    }

    def install(fault):
        text = script()
        for old, new in here.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        check.write_text(text)
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


def state(slurm, wanted=""):
    """What Slurm says of the sick node, once it has the wanted word in it."""
    found = ""
    for _ in range(300):
        found = slurm("sinfo", "--noheader", f"--nodes={SICK}", "--partition=gpu", "--format=%T %E")
        if wanted in found:
            return found
        time.sleep(0.2)
    return found


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
    assert "drain" in state(slurm, "drain")
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
