"""A cluster with PBS: the file to copy. Every line that a site changes says what it is; the rest may stay.

Copy it to config/systems/<your cluster>.py, give it your names, and run on the login node:

    reframe -C config/settings.py -c checks -R -r --system=<your cluster> --mode=quick

What belongs to one run and not to the site comes from the command line: `-J A=account`, `-J q=R123` (a reservation's
queue), and `-S` for the variables of the checks. `linkmatrix detect` on a compute node writes a first file with its
GPUs.

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
    # modules that make ReFrame's programs work: "lmod", "envmod" …; without it none are loaded
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
            # options of every job
            "access": [
                # the queue (`qstat -Q`)
                "-q workq",
                # each chunk on a node of its own, or ranks that should meet over the network may share a node; and no
                # other job there
                "-l place=scatter:excl",
                # a job whose node is lost does not begin again: half of its output would be there already
                "-r n",
                # the login node's environment variables, as with Slurm; without it, modules below
                "-V",
            ],
            "environs": ["gnu"],
            # what its nodes and network have: gpu cuda mpi, and crossnode where a job may take several nodes
            "features": ["mpi", "crossnode"],
            # how a job asks for a certain node: -S on=node017; Torque: {host} alone
            "resources": [{"name": "node", "options": ["host={host}"]}],
            # jobs in the queue at once; a matrix measured beside another job's traffic measures that too
            "max_jobs": 4,
            "extras": {
                # how many nodes it has, for the checks between all of them at once; or -S crossnode_matrix.nodes=N
                # "nodes": 512,
                # how mpirun binds ranks: the check rank_binding says what came of it. What the check wants can stand in
                # braces, as in ["--map-by", "ppr:{num_tasks_per_node}:node"]
                "rank_options": ["--map-by", "numa", "--bind-to", "core"],
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
                # the table in config/references that measurements are held against; without it there is no verdict
                # "reference": "pbs-example",
                # how many nodes it has, for the checks between all of them at once; or -S crossnode_matrix.nodes=N
                # "nodes": 512,
                # MPI must take the addresses of GPUs: a matrix between GPUs whose bytes went through host memory fails
                # "gpudirect": True,
                # what every pair of GPUs of a node must have; what is left out is not judged
                "link_class": "NV18",
                "peer_access": True,
                "hops": 1,
                # how mpirun binds ranks; each takes the GPU of its number among those that it sees
                "rank_options": ["--map-by", "numa", "--bind-to", "core"],
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
        "features": ["cuda", "mpi"],
        # architectures to build for: the login node may have no GPU to ask
        "extras": {"cuda_arch": "90"},
    },
]
