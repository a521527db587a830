"""A cluster with PBS: the file to copy. Every line that a site changes says what it is; the rest may stay.

Copy it to config/systems/<your cluster>.py, give it your names, and run on the login node:

    reframe -C config/settings.py -c checks -R -r --system=<your cluster> --mode=quick

What belongs to one run and not to the site comes from the command line: `-J A=account`, `-J q=R123` (a reservation's
queue), and `-S` for the variables of the checks: `-S time_limit=…`, `-S max_pending_time=…` (8 hours by default).
`linkmatrix detect --scheduler pbs` writes a first file of all queues.

The checks ask for chunks of nodes, `-l select=2:mpiprocs=4:ncpus=4`; what is added to a chunk and where chunks are
placed stands here. How a job ended and where it ran they take from what the program printed.
"""

system = {
    # --system=NAME; and the first part of the folders of results and of config/topology/NAME-PARTITION
    "name": "pbs-example",
    "descr": "an example of a cluster with PBS",
    # regular expressions of the host names on which ReFrame takes this system by itself: its login nodes
    "hostnames": [r"pbs-example-login\d+"],
    # a folder that login and compute nodes share, where jobs write their output: by default that of this repository
    # "prefix": "/shared/you/linkmatrix",
    # what `module` is there: "lmod", or "envmod" for Environment Modules (Tcl) from 4.1 on; without it none are loaded.
    # Jobs get `module` with the login node's environment variables (-V below), or from `prepare_cmds` of a partition
    # "modules_system": "lmod",
    "partitions": [
        {
            "name": "cpu",
            "descr": "nodes without GPUs: host memory and the network",
            # "pbs" or "pbspro" for OpenPBS and PBS Pro: the first waits for a job's output files, the second for PBS's
            # word; "torque" for Torque, which has `-l nodes=2:ppn=4` and no place
            "scheduler": "pbs",
            # ranks are started by mpirun, which reads the nodes of the job where your MPI knows PBS
            # (Open MPI: `ompi_info | grep 'plm: tm'`)
            "launcher": "mpirun",
            # where it does not, it is told them, with the ranks of each, and starts its daemons there by ssh
            # "prepare_cmds": ["uniq -c $PBS_NODEFILE | awk '{print $2 \" slots=\" $1}' > hosts"],
            # "env_vars": [["OMPI_MCA_orte_default_hostfile", "$PWD/hosts"]],
            # ["UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1"] in that list names the network adapters that MPI may use, where
            # it should not choose itself; UCX takes those near each rank
            # options of every job
            "access": [
                # the queue (`qstat -Q`), which for a reservation is its number: "-q R123"
                "-q workq",
                # who pays
                # "-A project",
                # each chunk on a node of its own, or ranks that should meet over the network may share a node; and no
                # other job there: "-l place=scatter" where nodes may be shared
                "-l place=scatter:excl",
                # a job whose node is lost does not begin again: half of its output would be there already
                "-r n",
                # the login node's environment variables, as with Slurm; without it, modules below
                "-V",
            ],
            "environs": ["gnu"],
            # what its nodes and network have: gpu cuda mpi nccl, and crossnode where a job may take several nodes
            "features": ["mpi", "crossnode"],
            "resources": [
                # how a job asks for a certain node: -S on=node017; Torque: {host} alone
                {"name": "node", "options": ["host={host}"]},
                # only nodes that have a property, in every chunk: a resource of your site (`qmgr -c 'list resource'`)
                # {"name": "layout", "options": ["fabric=hdr"]},
            ],
            # jobs in the queue at once; a matrix measured beside another job's traffic measures that too
            "max_jobs": 4,
            "extras": {
                # the most nodes of a job between all nodes; without it, such a job takes all nodes that are up
                # "nodes": 512,
                # how mpirun binds ranks: the check rank_binding says what came of it. What the check wants can stand in
                # braces, as in ["--map-by", "ppr:{num_tasks_per_node}:node"]
                "rank_options": ["--map-by", "numa", "--bind-to", "core"],
                # processes that disturb nothing, as NAME:USER, such as the site's monitoring; * is any
                # "ignored_processes": ["nv-hostengine:root", "node_exporter:*"],
                # ranks may share cores, or span NUMA nodes, where a site wants that
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
            # how this site asks for the GPUs of a chunk: checks say only how many. The scheduler must count ngpus
            # (`resources:` in sched_config), or it gives what a node does not have; Torque: gpus={num_gpus_per_node}
            "resources": [
                {"name": "_rfm_gpu", "options": ["ngpus={num_gpus_per_node}"]},
                {"name": "node", "options": ["host={host}"]},
            ],
            # the GPUs of a node; or config/topology/pbs-example-gpu/devices.json, as `linkmatrix detect` writes it
            "devices": [{"type": "gpu", "arch": "sm_90", "model": "NVIDIA H200", "num_devices": 8}],
            "extras": {
                # the table in config/references that measurements are compared with; without one they are NOT JUDGED
                # "reference": "pbs-example",
                # the most nodes of a job between all nodes; without it, such a job takes all nodes that are up
                # "nodes": 512,
                # MPI must take the addresses of GPUs: a matrix between GPUs whose bytes went through host memory fails
                # "gpudirect": True,
                # MPI must have loaded GDRCopy; the sweeps of pairs of GPUs are measured without it too
                # "gdrcopy": True,
                # what every pair of GPUs of a node must have; what is left out is not judged
                "link_class": "NV18",
                "peer_access": True,
                "hops": 1,
                # how mpirun binds ranks; each takes the GPU of its number among those that it sees: all of the job, for
                # mpirun hides none
                "rank_options": ["--map-by", "numa", "--bind-to", "core"],
                # jobs that measure host memory ask for no GPUs; where no job without is taken, all ask for all of them
                # "gpus_in_every_job": True,
                # limits in GB/s of one direction, where the program's own (p2p_matrix --limits) do not fit
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
