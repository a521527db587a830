"""A cluster with PBS: an example to copy. A comment explains each line that a site changes.

Copy it to config/systems/<your cluster>.py, replace the names, and run on the login node:

    reframe -C config/settings.py -c checks -R -r --system=<your cluster> --mode=quick

`linkmatrix detect --scheduler pbs` writes a first file with all queues.

Settings of one run are options of the command line:

    -J A=account -J q=R123                      (the queue of a reservation)
    -S time_limit=…
    -S max_pending_time=…                       (default: 8 hours)

The checks request chunks of nodes: `-l select=2:mpiprocs=4:ncpus=4`. This file contains the resources and the placement
of the chunks. The output of the program contains how a job ended and where it ran.
"""

system = {
    # the name for --system=NAME. Folders of results and config/topology/NAME-PARTITION begin with it
    "name": "pbs-example",
    "descr": "an example of a cluster with PBS",
    # regular expressions of the names of the login nodes: on these hosts, ReFrame selects this system
    "hostnames": [r"pbs-example-login\d+"],
    # the folder for the output of jobs, which login and compute nodes share (default: .linkmatrix in the clone)
    # "prefix": "/shared/you/linkmatrix",
    # the program behind `module`: "lmod", or "envmod" for Environment Modules 4.1 or later; without it, none is loaded.
    # Jobs get `module` with the environment variables of the login node (-V), or by `prepare_cmds` of a partition
    # "modules_system": "lmod",
    "partitions": [
        {
            "name": "cpu",
            "descr": "nodes without GPUs: host memory and the network",
            # OpenPBS and PBS Pro: "pbs" waits for the output files of a job, "pbspro" asks PBS for its state.
            # Torque: "torque", which requests `-l nodes=2:ppn=4` and has no `place`
            "scheduler": "pbs",
            # mpirun starts the ranks. If your MPI was built with support for PBS, it reads the nodes of the job
            # (Open MPI: `ompi_info | grep 'plm: tm'`)
            "launcher": "mpirun",
            # without this support, write a file with the nodes and their ranks; mpirun then uses ssh
            # "prepare_cmds": ["uniq -c $PBS_NODEFILE | awk '{print $2 \" slots=\" $1}' > hosts"],
            # "env_vars": [["OMPI_MCA_orte_default_hostfile", "$PWD/hosts"]],
            # to choose the network adapters of MPI, add ["UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1"] to this list.
            # By default, UCX uses the adapters near each rank
            # options of every job
            "access": [
                # the queue (`qstat -Q`), or the number of a reservation: "-q R123"
                "-q workq",
                # the account
                # "-A project",
                # one chunk per node, without other jobs. Otherwise ranks of several chunks may share a node. If jobs
                # may share nodes: "-l place=scatter"
                "-l place=scatter:excl",
                # do not rerun a job whose node fails: it would find the output of the first start
                "-r n",
                # pass the environment variables of the login node; without -V, set modules below
                "-V",
            ],
            "environs": ["gnu"],
            # gpu, cuda, mpi, nccl: hardware and libraries of the nodes. crossnode: a job may use several nodes
            "features": ["mpi", "crossnode"],
            "resources": [
                # the resource that requests one node: -S on=node017; for Torque only {host}
                {"name": "node", "options": ["host={host}"]},
                # a resource of your site that each chunk requests (`qmgr -c 'list resource'`)
                # {"name": "layout", "options": ["fabric=hdr"]},
            ],
            # the maximum number of concurrent jobs: traffic of other jobs changes the results
            "max_jobs": 4,
            "extras": {
                # the maximum number of nodes of a job between all nodes (default: all nodes that are up)
                # "nodes": 512,
                # options of mpirun for ranks. The check rank_binding reports the result. Braces contain numbers of the
                # check, as in ["--map-by", "ppr:{num_tasks_per_node}:node"]
                "rank_options": ["--map-by", "numa", "--bind-to", "core"],
                # ignored processes, such as the site's monitoring, as NAME:USER; * means any
                # "ignored_processes": ["nv-hostengine:root", "node_exporter:*"],
                # allow ranks to share cores, or to span NUMA nodes
                # "shared_cores": True,
                # "spans_numa": True,
            },
        },
        {
            "name": "gpu",
            "descr": "nodes with GPUs",
            "scheduler": "pbs",
            "launcher": "mpirun",
            "access": ["-q gpuq", "-l place=scatter:excl", "-r n", "-V"],
            "environs": ["gnu-cuda"],
            "features": ["gpu", "cuda", "mpi", "crossnode"],
            "max_jobs": 4,
            # the resource that requests the GPUs of a chunk. `resources:` in sched_config must contain ngpus, otherwise
            # PBS assigns more GPUs than a node has. Torque: gpus={num_gpus_per_node}
            "resources": [
                {"name": "_rfm_gpu", "options": ["ngpus={num_gpus_per_node}"]},
                {"name": "node", "options": ["host={host}"]},
            ],
            # the GPUs of a node. `linkmatrix detect` writes config/topology/pbs-example-gpu/devices.json instead
            "devices": [{"type": "gpu", "arch": "sm_90", "model": "NVIDIA H200", "num_devices": 8}],
            "extras": {
                # the table of config/references with which cells are compared; without it, the cells are NOT JUDGED
                # "reference": "pbs-example",
                # the maximum number of nodes of a job between all nodes (default: all nodes that are up)
                # "nodes": 512,
                # require MPI to accept GPU addresses: a matrix between GPUs fails if its data uses host memory
                # "gpudirect": True,
                # require MPI to load GDRCopy; sweeps of pairs of GPUs are then also measured without GDRCopy
                # "gdrcopy": True,
                # the expected configuration of each pair of GPUs of a node; a missing key is not compared
                "link_class": "NV18",
                "peer_access": True,
                "hops": 1,
                # options of mpirun for ranks. A rank uses the GPU with its own number among all GPUs of the job
                "rank_options": ["--map-by", "numa", "--bind-to", "core"],
                # request all GPUs for jobs of host memory too, if the partition accepts no job without GPUs
                # "gpus_in_every_job": True,
                # limits in GB/s of one direction that replace those of the program (p2p_matrix --limits)
                # "limits": {"HOST": 63.0},
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
