"""ABCI as its user benchmarks of inter-GPU communication describe it: Grid Engine, compute nodes (A) and (V).

The benchmarks' figures are what a run here is held against, config/references/abci.yaml, and `linkmatrix compare
--against abci:anode` puts any run beside them. They name no link class and no network adapter, so none is promised.
`reframe --system=abci -t pairs …` measures their sweeps between nodes, with all of their columns, in one job. The group
that pays belongs to the run: `-J g=GROUP`.

The modules are those of the benchmarks, too old to build with: linkmatrix needs GCC >= 11 and a CUDA that knows C++20.
Put newer ones into their place; nothing else changes.
"""

import os


def node(name, descr, resource, gpus, model, arch):
    """A partition: nodes of one type, asked for whole by the type's own resource, so with all of their GPUs."""
    return {
        "name": name,
        "descr": descr,
        "scheduler": "sge",
        "launcher": "mpirun",
        "environs": [f"gnu-{name}"],
        "features": ["gpu", "cuda", "mpi", "crossnode"],
        "max_jobs": 4,
        # ReFrame asks Grid Engine for nothing by itself
        "resources": [{"name": "layout", "options": [f"-l {resource}={{num_nodes}}", "-S /bin/bash", "-r n"]}],
        "devices": [{"type": "gpu", "arch": arch, "model": model, "num_devices": gpus}],
        "extras": {
            # the published figures, until there are runs to adopt
            "reference": f"abci-{name}",
            "reference_file": "abci.yaml",
            # as the benchmarks' table of software says
            "gdrcopy": True,
            # of all pairs: the benchmarks measure every one with P2P=Enabled
            "peer_access": True,
            # a job has all slots of its nodes, and mpirun would fill those of the first
            "rank_options": ["--map-by", "ppr:{num_tasks_per_node}:node"],
        },
    }


def environment(name, modules, arch):
    return {
        "name": name,
        "modules": modules,
        "cc": "gcc",
        "cxx": "g++",
        "nvcc": "nvcc",
        "features": ["cuda", "mpi"],
        "extras": {"cuda_arch": arch},
    }


system = {
    "name": "abci",
    "descr": "ABCI, compute nodes (A) and (V)",
    "hostnames": [r"es\d+"],
    # a dry run elsewhere loads no modules
    "modules_system": "envmod" if "MODULESHOME" in os.environ else "nomod",
    "partitions": [
        node("anode", "compute nodes (A): 8 NVIDIA A100", "rt_AF", 8, "A100", "sm_80"),
        node("vnode", "compute nodes (V): 4 NVIDIA V100", "rt_F", 4, "V100", "sm_70"),
    ],
}

environments = [
    environment("gnu-anode", ["cuda/11.2/11.2.2", "openmpi/4.0.5"], "80"),
    environment("gnu-vnode", ["cuda/11.2/11.2.2", "gcc/7.4.0", "openmpi/4.0.5"], "70"),
]
