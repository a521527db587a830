"""HGX H200: 8 NVIDIA H200 in one node. Each GPU has 18 NVLinks to the NVSwitches, so all pairs have the class NV18.

Copy this file for a system of your own. Use it on any such node with `reframe --system=hgx-h200`, or add the names of
your nodes to `hostnames`. The number of GPUs is in ../topology/hgx-h200-gpu/devices.json.
"""

system = {
    "name": "hgx-h200",
    "descr": "8 NVIDIA H200, NVLink 4 through NVSwitch",
    "hostnames": [r"hgx-h200-\d+"],
    "partitions": [
        {
            "name": "gpu",
            "descr": "one node, without a scheduler",
            "scheduler": "local",
            "launcher": "mpirun",
            # two concurrent programs would disturb each other
            "max_jobs": 1,
            "environs": ["gnu-cuda"],
            "features": ["gpu", "cuda", "mpi", "nccl"],
            "extras": {
                # the table in ../references with which cells are compared
                "reference": "hgx-h200",
                # the expected configuration of each pair of GPUs
                "link_class": "NV18",
                "peer_access": True,
                "hops": 1,
                # the expected transport of NCCL
                "nccl_transport": "P2P",
                # mpirun binds each rank to its own core
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
        # add "nccl" if NCCL is installed: it measures collectives of GPUs
        "features": ["cuda", "mpi"],
        # also "nccl_root": "/opt/nccl", if CMake does not find NCCL
        "extras": {"cuda_arch": "90"},
    }
]
