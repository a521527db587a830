"""HGX H200: 8 NVIDIA H200 in one node, each with 18 NVLinks to the NVSwitches, so NV18 between all pairs.

A file to copy for a system of your own. `reframe --system=hgx-h200` takes it on any such node; or put the names of your
nodes into `hostnames`. How many GPUs there are stands in ../topology/hgx-h200-gpu/devices.json.
"""

system = {
    "name": "hgx-h200",
    "descr": "8 NVIDIA H200, NVLink 4 through NVSwitch",
    "hostnames": [r"hgx-h200-\d+"],
    "partitions": [
        {
            "name": "gpu",
            "descr": "one node, run on the spot",
            "scheduler": "local",
            "launcher": "mpirun",
            # two programs at once would measure each other
            "max_jobs": 1,
            "environs": ["gnu-cuda"],
            "features": ["gpu", "cuda", "mpi", "nccl"],
            "extras": {
                # the table in ../references that measurements here are held against
                "reference": "hgx-h200",
                # what every pair of GPUs must have
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
        "target_systems": ["hgx-h200"],
        "cc": "gcc",
        "cxx": "g++",
        "nvcc": "nvcc",
        # "nccl" too, where NCCL is installed: collectives of GPUs
        "features": ["cuda", "mpi"],
        # "nccl_root": "/opt/nccl" beside it, where CMake does not find NCCL by itself
        "extras": {"cuda_arch": "90"},
    }
]
