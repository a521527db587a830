"""A cluster with Slurm: an example to copy. A comment explains each line that a site changes.

Copy it to config/systems/<your cluster>.py, replace the names, and run on the login node:

    reframe -C config/settings.py -c checks -R -r --system=<your cluster> --mode=quick

`linkmatrix detect --scheduler slurm` writes a first file with all partitions.

Settings of one run are options of the command line:

    -J account=… -J reservation=… -J qos=… -J constraint=… -J exclude=…
    -S time_limit=…
    -S max_pending_time=…                       (default: 8 hours)
    -S exclusive_access=no                      (the job shares its nodes with other jobs)
    -S build_linkmatrix.build_locally=no        (compile on a node of the partition)
"""

system = {
    # the name for --system=NAME. Folders of results and config/topology/NAME-PARTITION begin with it
    "name": "slurm-example",
    "descr": "an example of a cluster with Slurm",
    # regular expressions of the names of the login nodes: on these hosts, ReFrame selects this system
    "hostnames": [r"slurm-example-login\d+"],
    # the folder for the output of jobs, which login nodes and compute nodes share (default: .linkmatrix in the clone).
    # Compute nodes need no home directory
    # "prefix": "/shared/you/linkmatrix",
    # the program behind `module`: "lmod", or "envmod" for Environment Modules 4.1 or later; without it, none is loaded.
    # Jobs get `module` with the login node's environment variables, or from `prepare_cmds` of a partition
    # "modules_system": "lmod",
    "partitions": [
        {
            "name": "cpu",
            "descr": "nodes without GPUs: host memory and the network",
            # "slurm" reads the end of a job from sacct. Without accounting: "squeue", which knows no exit code
            "scheduler": "slurm",
            # srun starts the ranks, with the PMI of your MPI (SLURM_MPI_TYPE; `srun --mpi=list` prints the types).
            # Use "mpirun" if your MPI was built with support for Slurm
            "launcher": "srun",
            # options of every job
            "access": [
                "--partition=cpu",
                # the account and the quality of service
                # "--account=project",
                # "--qos=benchmark",
                # a reservation, and a feature of nodes (`sinfo -o "%N %f"`)
                # "--reservation=acceptance",
                # "--constraint=hdr",
                # do not requeue a job whose node fails: it would wait for this node, and find the output of the first
                # start
                "--no-requeue",
            ],
            # srun ends a step when a task fails, and 50 s after the first task ended; otherwise the time limit ends it
            "env_vars": [["SLURM_KILL_BAD_EXIT", "1"], ["SLURM_WAIT", "50"]],
            # to choose the network adapters of MPI, add ["UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1"] to this list.
            # By default, UCX uses the adapters near each rank
            "environs": ["gnu"],
            # gpu, cuda, mpi, nccl: hardware and libraries of the nodes. rdma, tcp: extras["adapters"] describes RDMA
            # adapters or network interfaces. crossnode: a job may use several nodes
            "features": ["mpi", "crossnode"],
            # the option of a job that requests one node: -S on=node017
            "resources": [{"name": "node", "options": ["--nodelist={host}"]}],
            # the maximum time of a job, if it is less than the 30 minutes that checks request
            # "time_limit": "20m",
            # the maximum number of concurrent jobs: traffic of other jobs changes the results
            "max_jobs": 4,
            "sched_options": {
                # jobs request --nodes too, so that Slurm distributes the ranks as the check requires
                "use_nodes_option": True,
                # sacct reports a job some seconds after its end
                "job_submit_timeout": 60,
            },
            "extras": {
                # the maximum number of nodes of a job between all nodes (default: all nodes that are up)
                # "nodes": 512,
                # options of srun for ranks, and for a single process (`srun --cpu-bind=help`). The check rank_binding
                # reports the result. With mpirun: ["--map-by", "numa", "--bind-to", "core"], and []
                "rank_options": ["--cpu-bind=cores"],
                "process_options": ["--cpu-bind=none"],
                # ignored processes, such as the site's monitoring, as NAME:USER; * means any
                # "ignored_processes": ["nv-hostengine:root", "node_exporter:*"],
                # allow ranks to share cores, or to span NUMA nodes
                # "shared_cores": True,
                # "spans_numa": True,
                # options of preemptible jobs, which `linkmatrix next` plans
                # "preemptible": ["--qos=scavenger"],
            },
        },
        {
            "name": "gpu",
            "descr": "nodes with GPUs",
            "scheduler": "slurm",
            "launcher": "srun",
            "access": ["--partition=gpu", "--no-requeue"],  # and the other options above
            "env_vars": [["SLURM_KILL_BAD_EXIT", "1"], ["SLURM_WAIT", "50"]],
            "environs": ["gnu-cuda"],
            "features": ["gpu", "cuda", "mpi", "crossnode"],
            "max_jobs": 4,
            "sched_options": {"use_nodes_option": True},
            # the option that requests GPUs; older sites use "--gres=gpu:{num_gpus_per_node}"
            "resources": [
                {"name": "_rfm_gpu", "options": ["--gpus-per-node={num_gpus_per_node}"]},
                {"name": "node", "options": ["--nodelist={host}"]},
            ],
            # the GPUs of a node. `linkmatrix detect` writes config/topology/slurm-example-gpu/devices.json instead
            "devices": [{"type": "gpu", "arch": "sm_90", "model": "NVIDIA H200", "num_devices": 8}],
            "extras": {
                # the table of config/references with which cells are compared; without it, the cells are NOT JUDGED
                # "reference": "slurm-example",
                # the file of this table (default: p2p.yaml)
                # "reference_file": "slurm-example.yaml",
                # the maximum number of nodes of a job between all nodes (default: all nodes that are up)
                # "nodes": 512,
                # with the feature rdma: the network adapters of each node, or a list of different groups. They are
                # compared before the first measurement. `linkmatrix detect` on a node writes this line
                # "adapters": {"number": 8, "rate": 400, "link_layer": "InfiniBand", "width": 16, "speed": 32},
                # also the least share in perftest: "ratio": 0.95 of the rate; "at_once": 0.95 of the sum of adapters
                # require MPI to accept GPU addresses: a matrix between GPUs fails if its data uses host memory
                # "gpudirect": True,
                # require MPI to load GDRCopy; sweeps of pairs of GPUs are then also measured without GDRCopy
                # "gdrcopy": True,
                # the expected configuration of each pair of GPUs of a node; a missing key is not compared
                "link_class": "NV18",
                "peer_access": True,
                "hops": 1,
                # with the feature nccl: the transport of NCCL inside a node, and its network between nodes
                # "nccl_transport": "P2P",
                # "nccl_network": "IB",
                # the least share of the links' limit that a collective of the largest size must reach, in %
                # "collective_utilisation": {"all_reduce_perf": 70},
                # options of srun for ranks, and for a single process (`srun --cpu-bind=help`). The check rank_binding
                # reports the result. A rank uses the GPU with its own number among its visible GPUs: all GPUs of the
                # job with "--gpu-bind=none", the nearest with "--gpu-bind=closest", one with "--gpu-bind=single:1"
                "rank_options": ["--cpu-bind=cores", "--gpu-bind=none"],
                "process_options": ["--cpu-bind=none"],
                # ignored processes, such as the site's monitoring, as NAME:USER; * means any
                # "ignored_processes": ["nv-hostengine:root", "node_exporter:*"],
                # allow ranks to share cores, or to span NUMA nodes
                # "shared_cores": True,
                # "spans_numa": True,
                # request all GPUs for jobs of host memory too, if the partition accepts no job without GPUs
                # "gpus_in_every_job": True,
                # limits in GB/s of one direction that replace those of the program (p2p_matrix --limits)
                # "limits": {"HOST": 63.0},
                # run the programs in a container: see docs/containers.md
                # "container": {"platform": "Apptainer", "image": "/shared/linkmatrix.sif"},
                # build in a job, if the login node has no compiler or no nvcc
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
        # the programs that the environment can build: "mpi", and "cuda" with nvcc
        "features": ["mpi"],
    },
    {
        "name": "gnu-cuda",
        # "modules": ["gcc/13", "cuda/13.0", "openmpi/5"],
        "cc": "gcc",
        "cxx": "g++",
        "nvcc": "nvcc",
        # if NCCL is installed, add "nccl" here and to the features of the partition: it measures collectives of GPUs.
        # If CMake does not find NCCL, add its folder to extras as "nccl_root"
        "features": ["cuda", "mpi"],
        # the GPU architectures of the build, because the login node may have no GPU
        "extras": {"cuda_arch": "90"},
    },
]
