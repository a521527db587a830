"""Any machine that has no file of its own: what it can do is found out when the file is read.

It promises nothing about its links. It names references only where those that are shipped are of the same GPUs; what is
measured elsewhere is NOT JUDGED until references are adopted and a system file names them.
"""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from linkmatrix.site import nccl, open_mpi, prebuilt

# the GPUs that shipped references are of: (model, how many) and their table in ../references
KNOWN = {("NVIDIA H200", 8): "hgx-h200", ("NVIDIA H200", 4): "hgx-h200-half"}


def answer(*command):
    """What a command prints; "" where it is missing, fails or does not answer."""
    if not shutil.which(command[0]):
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def gpus():
    """(model, compute capability) of each visible GPU, by nvidia-smi; [] where that is missing or does not answer."""
    lines = answer("nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader").splitlines()
    found = [tuple(field.strip() for field in line.rsplit(",", 1)) for line in lines if "," in line]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return found if visible is None else found[: len([device for device in visible.split(",") if device.strip()])]


def devices(found):
    """`found` as ReFrame's list of devices: one entry for each model."""
    return [
        {"type": "gpu", "arch": "sm_" + capability.replace(".", ""), "model": model, "num_devices": found.count(kind)}
        for kind in dict.fromkeys(found)
        for model, capability in [kind]
    ]


def pairs():
    """Which pairs of GPUs reach each other, as nvidia-smi prints it."""
    return answer("nvidia-smi", "topo", "-p2p", "r")


def extras(found, matrix):
    """What is known of these GPUs: the table of references, where one is shipped; and that no two have peer access.

    matrix: of `pairs`
    """
    models = {model for model, _ in found}
    table = KNOWN.get((models.pop(), len(found))) if len(models) == 1 else None
    rows = [line.split() for line in matrix.splitlines() if line.lstrip().startswith("GPU")] if len(found) > 1 else []
    states = {state for row in rows for state in row[1:] if state != "X" and not state.startswith("GPU")}
    apart = states and "OK" not in states
    return {**({"reference": table} if table else {}), **({"peer_access": False} if apart else {})}


# at the same time: each wakes the GPUs, where nothing else keeps them awake, and the last one lets them sleep again
with ThreadPoolExecutor() as pool:
    reached, found = pool.submit(pairs), gpus()
cxx, nvcc = os.environ.get("CXX", "g++"), shutil.which("nvcc")
# the programs of a platform wheel need no compiler; without a build there is neither MPI nor NCCL
builds = prebuilt.can_build(cxx, bool(found))
mpi = bool(builds and shutil.which("mpirun") and shutil.which("mpicxx"))
with_nccl = nccl.place(nvcc) if found and builds else ""
libraries = [*(["mpi"] if mpi else []), *(["nccl"] if with_nccl else [])]
archs = sorted({capability.replace(".", "") for _, capability in found})

system = {
    "name": "this-machine",  # "generic" is ReFrame's own
    "descr": "this machine, as it was found",
    "hostnames": [r".*"],
    "partitions": [
        {
            "name": "default",
            "scheduler": "local",
            "launcher": "mpirun" if mpi else "local",
            # two programs at once would measure each other
            "max_jobs": 1,
            "environs": ["default"],
            "features": [*(["gpu", "cuda"] if found else []), *libraries],
            "env_vars": open_mpi.variables(oversubscribe=True) if mpi else [],
            # both given, so that ReFrame leaves nothing about this machine in ../topology
            "processor": {"num_cpus": len(os.sched_getaffinity(0))},
            "devices": devices(found),
            # a workstation may have fewer cores than ranks
            "extras": {**extras(found, reached.result()), "shared_cores": True, "spans_numa": True},
        }
    ],
}

environments = [
    {
        "name": "default",
        "cc": os.environ.get("CC", "gcc"),
        "cxx": cxx,
        # these names and architectures are those that `linkmatrix detect` writes, so both use the same build
        "nvcc": "nvcc",
        "features": [*(["cuda"] if nvcc or "cuda" in prebuilt.features() else []), *libraries],
        "extras": {
            **({"cuda_arch": ",".join(archs)} if archs else {}),
            **({"nccl_root": with_nccl} if nccl.told(with_nccl) else {}),
        },
    }
]
