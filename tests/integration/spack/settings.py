"""A system for the tests, on this machine: given to `reframe -C` after config/settings.py.

Two environments, one without CUDA. Spack's own are those of packages.yaml, which the tests write.
"""

import os

root = [[f"OMPI_ALLOW_RUN_AS_ROOT{word}", "1"] for word in ("", "_CONFIRM")] if os.geteuid() == 0 else []

site_configuration = {
    "systems": [
        {
            "name": "spack-test",
            "hostnames": ["spack-test"],
            "prefix": os.environ["LINKMATRIX_PREFIX"],
            "partitions": [
                {
                    "name": "default",
                    "scheduler": "local",
                    "launcher": "mpirun",
                    "environs": ["gnu", "gnu-cuda"],
                    "features": ["cuda", "mpi"],
                    "max_jobs": 4,
                    "env_vars": [["OMPI_MCA_rmaps_base_oversubscribe", "1"], *root],
                    "processor": {"num_cpus": len(os.sched_getaffinity(0))},
                    "devices": [],
                }
            ],
        }
    ],
    "environments": [
        {"name": "gnu", "cc": "gcc", "cxx": "g++", "features": ["mpi"]},
        {
            "name": "gnu-cuda",
            "cc": "gcc",
            "cxx": "g++",
            "nvcc": os.environ.get("LINKMATRIX_TEST_NVCC", "nvcc"),
            "features": ["mpi", "cuda"],
            "extras": {"cuda_arch": os.environ.get("LINKMATRIX_TEST_CUDA_ARCH", "90")},
        },
    ],
}
