"""The system of a machine that has no file of its own: it claims no more than nvidia-smi says."""

import importlib.util
import os
from dataclasses import replace
from pathlib import Path

import pytest
from fake_programs import fake_program

from linkmatrix.site import machine

FILE = Path(__file__).parents[2] / "config" / "systems" / "generic.py"
P2P = """ \tGPU0\tGPU1
 GPU0\tX\t{state}
 GPU1\t{state}\tX

Legend:

  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
"""


def loaded():
    spec = importlib.util.spec_from_file_location("generic_system", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def generic(monkeypatch):
    """The module, on a machine without nvidia-smi."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return loaded()


def says(monkeypatch, module, query="", topology=""):
    """Lets nvidia-smi answer so."""
    monkeypatch.setattr(module, "answer", lambda *command: topology if "topo" in command else query)


def test_a_node_whose_references_are_shipped_is_held_against_them(monkeypatch, generic):
    says(monkeypatch, generic, "NVIDIA H200, 9.0\n" * 8, P2P.format(state="OK"))
    assert generic.extras(generic.gpus(), generic.pairs()) == {"reference": "hgx-h200"}
    assert generic.devices(generic.gpus()) == [
        {"type": "gpu", "arch": "sm_90", "model": "NVIDIA H200", "num_devices": 8}
    ]


def test_other_gpus_get_no_references(monkeypatch, generic):
    says(monkeypatch, generic, "NVIDIA H200, 9.0\n" * 5, P2P.format(state="OK"))
    assert generic.extras(generic.gpus(), generic.pairs()) == {}
    says(monkeypatch, generic, "NVIDIA H200, 9.0\n" * 7 + "NVIDIA H100, 9.0\n", P2P.format(state="OK"))
    assert generic.extras(generic.gpus(), generic.pairs()) == {}


def test_gpus_that_cannot_reach_each_other_are_not_asked_to(monkeypatch, generic):
    says(monkeypatch, generic, "NVIDIA GeForce RTX 4090, 8.9\n" * 2, P2P.format(state="CNS"))
    assert generic.extras(generic.gpus(), generic.pairs()) == {"peer_access": False}


def test_a_topology_that_is_not_told_is_not_guessed(monkeypatch, generic):
    says(monkeypatch, generic, "NVIDIA L40S, 8.9\n" * 2, "")
    assert generic.extras(generic.gpus(), generic.pairs()) == {}


def test_masked_gpus_do_not_count(monkeypatch, generic):
    says(monkeypatch, generic, "NVIDIA H200, 9.0\n" * 8)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert len(generic.gpus()) == 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert generic.gpus() == []


def test_nvidia_smi_is_asked_both_questions_at_once(tmp_path, monkeypatch):
    """Each answers only after the other one was asked, and gives up after ten seconds."""
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    (tmp_path / "topo").write_text(P2P.format(state="CNS"))
    (tmp_path / "--query-gpu=name,compute_cap").write_text("NVIDIA L40S, 8.9\n" * 2)
    tool.write_text(
        f"""#!/bin/sh
cd {tmp_path}
touch ./asked.$$
for _ in $(seq 100); do
  [ "$(ls | grep -c asked)" -lt 2 ] || exec cat "./$1"
  sleep 0.1
done
exit 1
"""
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    module = loaded()
    assert module.found == [("NVIDIA L40S", "8.9")] * 2
    assert module.system["partitions"][0]["extras"]["peer_access"] is False


@pytest.mark.parametrize("other", [False, True])
def test_detect_writes_the_same_compilers_so_that_nothing_is_compiled_again(monkeypatch, generic, other):
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    if other:
        monkeypatch.setenv("CXX", "/opt/gcc/bin/g++")
    written = {}
    exec(machine.system_file(replace(machine.machine(), scheduler="local"), "other", "cpu"), written)
    of_build = ("cc", "cxx", "nvcc")
    (detected,), (found,) = written["environments"], loaded().environments
    assert [detected[name] for name in of_build] == [found[name] for name in of_build]
    assert detected.get("extras", {}).get("cuda_arch") == found["extras"].get("cuda_arch")


def test_programs_are_built_for_the_gpus_that_are_there(tmp_path, monkeypatch):
    models = "NVIDIA H200, 9.0\\nNVIDIA L40S, 8.9\\nNVIDIA H200, 9.0\\n"
    fake_program(tmp_path / "nvidia-smi", f"[ $1 = topo ] || printf '{models}'")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert loaded().environments[0]["extras"]["cuda_arch"] == "89,90"
