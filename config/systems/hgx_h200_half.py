"""Half of an HGX H200: a virtual machine with 4 of the 8 GPUs; through the NVSwitches NV18 between all pairs.

`reframe --system=hgx-h200-half` takes it on any such machine. How many GPUs there are stands in
../topology/hgx-h200-half-gpu/devices.json.
"""

system = {
    "name": "hgx-h200-half",
    "descr": "4 of 8 NVIDIA H200, NVLink 4 through NVSwitch",
    "hostnames": [r"hgx-h200-half.*"],
    "partitions": [
        {
            "name": "gpu",
            "descr": "the machine itself, run on the spot",
            "scheduler": "local",
            "launcher": "mpirun",
            # two programs at once would measure each other
            "max_jobs": 1,
            "environs": ["gnu-cuda"],
            "features": ["gpu", "cuda", "mpi", "nccl"],
            "extras": {
                "reference": "hgx-h200-half",
                "link_class": "NV18",
                "peer_access": True,
                "hops": 1,
                # by what NCCL connects them
                "nccl_transport": "P2P",
                # mpirun gives each rank a core of its own, not all of them
                "rank_options": ["--bind-to", "core"],
            },
        }
    ],
}

environments = [
    {
        "name": "gnu-cuda",
        "target_systems": ["hgx-h200-half"],
        "cc": "gcc",
        "cxx": "g++",
        "nvcc": "nvcc",
        # without "nccl", collectives of GPUs are left out
        "features": ["cuda", "mpi", "nccl"],
        # "nccl_root": "/opt/nccl" beside it, where CMake does not find NCCL by itself
        "extras": {"cuda_arch": "90"},
    }
]
