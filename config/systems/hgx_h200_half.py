"""Half of an HGX H200: a virtual machine with 4 of the 8 GPUs. All pairs have the class NV18, over the NVSwitches.

Use it on any such machine with `reframe --system=hgx-h200-half`. The number of GPUs is in
../topology/hgx-h200-half-gpu/devices.json.
"""

system = {
    "name": "hgx-h200-half",
    "descr": "4 of 8 NVIDIA H200, NVLink 4 through NVSwitch",
    "hostnames": [r"hgx-h200-half.*"],
    "partitions": [
        {
            "name": "gpu",
            "descr": "one machine, without a scheduler",
            "scheduler": "local",
            "launcher": "mpirun",
            # two concurrent programs would disturb each other
            "max_jobs": 1,
            "environs": ["gnu-cuda"],
            "features": ["gpu", "cuda", "mpi", "nccl"],
            "extras": {
                "reference": "hgx-h200-half",
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
        "target_systems": ["hgx-h200-half"],
        "cc": "gcc",
        "cxx": "g++",
        "nvcc": "nvcc",
        # without "nccl", collectives of GPUs are not measured
        "features": ["cuda", "mpi", "nccl"],
        # also "nccl_root": "/opt/nccl", if CMake does not find NCCL
        "extras": {"cuda_arch": "90"},
    }
]
