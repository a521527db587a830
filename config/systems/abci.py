"""ABCI, with Grid Engine and the compute nodes (A) and (V). The source is ABCI's user benchmarks of GPU communication.

Runs are compared with the published figures of these benchmarks in config/references/abci.yaml. `linkmatrix compare
--against abci:anode` compares any run with these figures. The benchmarks name no link class and no network adapter, so
the expected configuration contains none. `reframe --system=abci -t pairs …` measures the sweeps between nodes in one
job. Set the account with `-J g=GROUP`.

The modules are the modules of the benchmarks, which are too old for a build. linkmatrix needs GCC >= 11 and a CUDA
Toolkit with C++20. Replace the modules by newer modules.
"""

import os


def node(name, descr, resource, gpus, model, arch):
    """A partition with one type of node. resource: Grid Engine's resource for a whole node of this type."""
    return {
        "name": name,
        "descr": descr,
        "scheduler": "sge",
        "launcher": "mpirun",
        "environs": [f"gnu-{name}"],
        "features": ["gpu", "cuda", "mpi", "crossnode"],
        "max_jobs": 4,
        # ReFrame requests nothing from Grid Engine without this resource
        "resources": [{"name": "layout", "options": [f"-l {resource}={{num_nodes}}", "-S /bin/bash", "-r n"]}],
        "devices": [{"type": "gpu", "arch": arch, "model": model, "num_devices": gpus}],
        "extras": {
            # the published figures, until you adopt references from runs
            "reference": f"abci-{name}",
            "reference_file": "abci.yaml",
            # the benchmarks' table of software contains GDRCopy
            "gdrcopy": True,
            # the benchmarks measure each pair with P2P=Enabled
            "peer_access": True,
            # otherwise mpirun would fill all slots of the first node
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
