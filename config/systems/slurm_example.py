"""A cluster with Slurm: the file to copy. Every line that a site changes says what it is; the rest may stay.

Copy it to config/systems/<your cluster>.py, give it your names, and run on the login node:

    reframe -C config/settings.py -c checks -R -r --system=<your cluster> --mode=quick

What belongs to one run and not to the site comes from the command line: `-J account=…`, `-J reservation=…`,
`-J qos=…`, `-J constraint=…`, `-J exclude=…`, and `-S` for the variables of the checks: `-S time_limit=…`,
`-S max_pending_time=…` (8 hours by default), `-S exclusive_access=no` where a node may be shared with other jobs,
`-S build_linkmatrix.build_locally=no` to compile on a node of the partition and not here.
`linkmatrix detect --scheduler slurm` writes a first file of all partitions.
"""

system = {
    # --system=NAME; and the first part of the folders of results and of config/topology/NAME-PARTITION
    "name": "slurm-example",
    "descr": "an example of a cluster with Slurm",
    # regular expressions of the host names on which ReFrame takes this system by itself: its login nodes
    "hostnames": [r"slurm-example-login\d+"],
    # a folder that login and compute nodes share, where jobs write their output: by default that of this repository.
    # Nothing is needed of a home directory there
    # "prefix": "/shared/you/linkmatrix",
    # what `module` is there: "lmod", or "envmod" for Environment Modules (Tcl) from 4.1 on; without it none are loaded.
    # Jobs get `module` with the login node's environment variables, or from `prepare_cmds` of a partition
    # "modules_system": "lmod",
    "partitions": [
        {
            "name": "cpu",
            "descr": "nodes without GPUs: host memory and the network",
            # "slurm" asks sacct how a job ended; where accounting is off, "squeue", which cannot tell an exit code
            "scheduler": "slurm",
            # ranks are started by srun, with the PMI that your MPI was built for: SLURM_MPI_TYPE, or `srun --mpi=list`;
            # "mpirun" works too where your MPI knows Slurm
            "launcher": "srun",
            # options of every job
            "access": [
                "--partition=cpu",
                # who pays, and the quality of service
                # "--account=project",
                # "--qos=benchmark",
                # nodes that are set aside for this, and only nodes that have a feature (`sinfo -o "%N %f"`)
                # "--reservation=acceptance",
                # "--constraint=hdr",
                # a job whose node is lost does not begin again: it would wait for that node, and half of its output
                # would be there already
                "--no-requeue",
            ],
            # srun ends the tasks of a step once one failed, and 50 s after the first ended; else the time limit does
            "env_vars": [["SLURM_KILL_BAD_EXIT", "1"], ["SLURM_WAIT", "50"]],
            # ["UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1"] in that list names the network adapters that MPI may use, where
            # it should not choose itself; UCX takes those near each rank
            "environs": ["gnu"],
            # what its nodes and network have: gpu cuda mpi nccl, rdma where extras["adapters"] says which adapters, tcp
            # where it names interfaces, and crossnode where a job may take several nodes
            "features": ["mpi", "crossnode"],
            # how a job asks for a certain node: -S on=node017
            "resources": [{"name": "node", "options": ["--nodelist={host}"]}],
            # the longest that a job may ask for, where that is less than the 30 minutes of the checks
            # "time_limit": "20m",
            # jobs in the queue at once; a matrix measured beside another job's traffic measures that too
            "max_jobs": 4,
            "sched_options": {
                # --nodes is said too, so that ranks are spread as the check wants
                "use_nodes_option": True,
                # a job that ended is known to sacct a little later
                "job_submit_timeout": 60,
            },
            "extras": {
                # the most nodes of a job between all nodes; without it, such a job takes all nodes that are up
                # "nodes": 512,
                # how srun binds ranks, and a process that has the node to itself: `srun --cpu-bind=help`; the check
                # rank_binding says what came of it. With mpirun: ["--map-by", "numa", "--bind-to", "core"], and []
                "rank_options": ["--cpu-bind=cores"],
                "process_options": ["--cpu-bind=none"],
                # processes that disturb nothing, as NAME:USER, such as the site's monitoring; * is any
                # "ignored_processes": ["nv-hostengine:root", "node_exporter:*"],
                # ranks may share cores, or span NUMA nodes, where a site wants that
                # "shared_cores": True,
                # "spans_numa": True,
                # with which options others may preempt a job, for those that `linkmatrix next` plans
                # "preemptible": ["--qos=scavenger"],
            },
        },
        {
            "name": "gpu",
            "descr": "nodes with GPUs",
            "scheduler": "slurm",
            "launcher": "srun",
            "access": ["--partition=gpu", "--no-requeue"],  # and what else is said above
            "env_vars": [["SLURM_KILL_BAD_EXIT", "1"], ["SLURM_WAIT", "50"]],
            "environs": ["gnu-cuda"],
            "features": ["gpu", "cuda", "mpi", "crossnode"],
            "max_jobs": 4,
            "sched_options": {"use_nodes_option": True},
            # how this site asks for GPUs: checks say only how many; "--gres=gpu:{num_gpus_per_node}" is the older way
            "resources": [
                {"name": "_rfm_gpu", "options": ["--gpus-per-node={num_gpus_per_node}"]},
                {"name": "node", "options": ["--nodelist={host}"]},
            ],
            # the GPUs of a node; or config/topology/slurm-example-gpu/devices.json, as `linkmatrix detect` writes it
            "devices": [{"type": "gpu", "arch": "sm_90", "model": "NVIDIA H200", "num_devices": 8}],
            "extras": {
                # the table in config/references that measurements are compared with; without one they are NOT JUDGED
                # "reference": "slurm-example",
                # the file with that table, where it is not p2p.yaml
                # "reference_file": "slurm-example.yaml",
                # the most nodes of a job between all nodes; without it, such a job takes all nodes that are up
                # "nodes": 512,
                # with the feature rdma: network adapters that each node must have, judged before anything is timed; a
                # list of such groups, where they are not all alike. `linkmatrix detect` on a node writes it
                # "adapters": {"number": 8, "rate": 400, "link_layer": "InfiniBand", "width": 16, "speed": 32},
                # beside these, what perftest must reach: "ratio": 0.95 of the rate, "at_once": 0.95 of the sum of each
                # MPI must take the addresses of GPUs: a matrix between GPUs whose bytes went through host memory fails
                # "gpudirect": True,
                # MPI must have loaded GDRCopy; the sweeps of pairs of GPUs are measured without it too
                # "gdrcopy": True,
                # what every pair of GPUs of a node must have; what is left out is not judged
                "link_class": "NV18",
                "peer_access": True,
                "hops": 1,
                # with the feature nccl: by what NCCL connects GPUs of a node, and its network between nodes
                # "nccl_transport": "P2P",
                # "nccl_network": "IB",
                # how many percent of what links allow the largest size of a collective must have
                # "collective_utilisation": {"all_reduce_perf": 70},
                # how srun binds ranks, and a process that has the node to itself: `srun --cpu-bind=help`; the check
                # rank_binding says what came of it. Each rank takes the GPU of its number among those that it sees:
                # all of the job with "--gpu-bind=none", those near its cores with "--gpu-bind=closest", one with
                # "--gpu-bind=single:1"
                "rank_options": ["--cpu-bind=cores", "--gpu-bind=none"],
                "process_options": ["--cpu-bind=none"],
                # processes that disturb nothing, as NAME:USER, such as the site's monitoring; * is any
                # "ignored_processes": ["nv-hostengine:root", "node_exporter:*"],
                # ranks may share cores, or span NUMA nodes, where a site wants that
                # "shared_cores": True,
                # "spans_numa": True,
                # jobs that measure host memory ask for no GPUs; where no job without is taken, all ask for all of them
                # "gpus_in_every_job": True,
                # limits in GB/s of one direction, where the program's own (p2p_matrix --limits) do not fit
                # "limits": {"HOST": 63.0},
                # runs the programs in a container: docs/containers.md
                # "container": {"platform": "Apptainer", "image": "/shared/linkmatrix.sif"},
                # builds in a job of its own, where the login node has no compiler or no nvcc
                # "build_locally": False,
            },
        },
    ],
}

environments = [
    {
        "name": "gnu",
        # modules to load, in order
        # "modules": ["gcc/13", "openmpi/5"],
        "cc": "gcc",
        "cxx": "g++",
        # what the environment can build: mpi, and cuda with nvcc
        "features": ["mpi"],
    },
    {
        "name": "gnu-cuda",
        # "modules": ["gcc/13", "cuda/13.0", "openmpi/5"],
        "cc": "gcc",
        "cxx": "g++",
        "nvcc": "nvcc",
        # "nccl" too, here and in the partition's, where NCCL is installed: collectives of GPUs. "nccl_root" in extras
        # says where, if CMake does not find it by itself
        "features": ["cuda", "mpi"],
        # architectures to build for: the login node may have no GPU to ask
        "extras": {"cuda_arch": "90"},
    },
]
