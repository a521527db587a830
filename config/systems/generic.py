"""Any machine without a system file. This file detects GPUs, compiler and MPI when ReFrame reads it.

The file contains no expected configuration of links. It names shipped references only for the same model and number of
GPUs. Other measurements are NOT JUDGED until you adopt references: `linkmatrix baseline`.
"""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from linkmatrix.site import nccl, open_mpi, prebuilt

# {(model, number of GPUs): table of shipped references in ../references}
KNOWN = {("NVIDIA H200", 8): "hgx-h200", ("NVIDIA H200", 4): "hgx-h200-half"}


def answer(*command):
    """The output of a command; "" if the command is missing, fails or does not answer."""
    if not shutil.which(command[0]):
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def gpus():
    """(model, compute capability) of each visible GPU; [] if nvidia-smi is missing or does not answer."""
    lines = answer("nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader").splitlines()
    found = [tuple(field.strip() for field in line.rsplit(",", 1)) for line in lines if "," in line]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return found if visible is None else found[: len([device for device in visible.split(",") if device.strip()])]


def devices(found):
    """ReFrame's list of devices, with one entry per model. found: the result of `gpus`."""
    return [
        {"type": "gpu", "arch": "sm_" + capability.replace(".", ""), "model": model, "num_devices": found.count(kind)}
        for kind in dict.fromkeys(found)
        for model, capability in [kind]
    ]


def pairs():
    """The matrix of peer access between GPUs, as nvidia-smi prints it."""
    return answer("nvidia-smi", "topo", "-p2p", "r")


def extras(found, matrix):
    """The extras of the partition: the shipped table of references, and whether no pair has peer access.

    found: the result of `gpus`. matrix: the result of `pairs`.
    """
    models = {model for model, _ in found}
    table = KNOWN.get((models.pop(), len(found))) if len(models) == 1 else None
    rows = [line.split() for line in matrix.splitlines() if line.lstrip().startswith("GPU")] if len(found) > 1 else []
    states = {state for row in rows for state in row[1:] if state != "X" and not state.startswith("GPU")}
    no_access = states and "OK" not in states
    return {**({"reference": table} if table else {}), **({"peer_access": False} if no_access else {})}


# concurrently, because each call of nvidia-smi waits until idle GPUs wake up
with ThreadPoolExecutor() as pool:
    matrix, found = pool.submit(pairs), gpus()
cxx, nvcc = os.environ.get("CXX", "g++"), shutil.which("nvcc")
# the programs of a platform wheel need no compiler; MPI and NCCL need a build
builds = prebuilt.can_build(cxx, bool(found))
mpi = bool(builds and shutil.which("mpirun") and shutil.which("mpicxx"))
with_nccl = nccl.find_prefix(nvcc) if found and builds else ""
libraries = [*(["mpi"] if mpi else []), *(["nccl"] if with_nccl else [])]
archs = sorted({capability.replace(".", "") for _, capability in found})

system = {
    "name": "this-machine",  # "generic" is ReFrame's own
    "descr": "this machine, detected at each start",
    "hostnames": [r".*"],
    "partitions": [
        {
            "name": "default",
            "scheduler": "local",
            "launcher": "mpirun" if mpi else "local",
            # two concurrent programs would disturb each other
            "max_jobs": 1,
            "environs": ["default"],
            "features": [*(["gpu", "cuda"] if found else []), *libraries],
            "env_vars": open_mpi.variables(oversubscribe=True) if mpi else [],
            # with "processor" and "devices", ReFrame writes no file about this machine into ../topology
            "processor": {"num_cpus": len(os.sched_getaffinity(0))},
            "devices": devices(found),
            # a workstation may have fewer cores than ranks
            "extras": {**extras(found, matrix.result()), "shared_cores": True, "spans_numa": True},
        }
    ],
}

environments = [
    {
        "name": "default",
        "cc": os.environ.get("CC", "gcc"),
        "cxx": cxx,
        # `linkmatrix detect` writes the same names and architectures, so both use the same build
        "nvcc": "nvcc",
        "features": [*(["cuda"] if nvcc or "cuda" in prebuilt.features() else []), *libraries],
        "extras": {
            **({"cuda_arch": ",".join(archs)} if archs else {}),
            **({"nccl_root": with_nccl} if nccl.is_from_environment(with_nccl) else {}),
        },
    }
]
