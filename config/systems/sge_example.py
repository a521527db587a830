"""A cluster with Grid Engine: the file to copy. Every line that a site changes says what it is; the rest may stay.

Copy it to config/systems/<your cluster>.py, give it your names, and run on the login node:

    reframe -C config/settings.py -c checks -R -r --system=<your cluster> --mode=quick

What belongs to one run and not to the site comes from the command line: `-J P=project`, `-J ar=reservation number`,
`-J 'l hostname=node17'`, and `-S` for the variables of the checks: `-S time_limit=…`, `-S max_pending_time=…` (8 hours
by default). `linkmatrix detect --scheduler sge` writes a first file of all queues.

Grid Engine tells neither how a job ended nor where it ran; the checks take both from what the program printed.
"""

system = {
    # --system=NAME; and the first part of the folders of results and of config/topology/NAME-PARTITION
    "name": "sge-example",
    "descr": "an example of a cluster with Grid Engine",
    # regular expressions of the host names on which ReFrame takes this system by itself: its login nodes
    "hostnames": [r"sge-example-login\d+"],
    # a folder that login and compute nodes share, where jobs write their output: by default that of this repository
    # "prefix": "/shared/you/linkmatrix",
    # what `module` is there: "lmod", or "envmod" for Environment Modules (Tcl) from 4.1 on; without it none are loaded.
    # Jobs get `module` with the login node's environment variables (-V below), or from `prepare_cmds` of a partition
    # "modules_system": "lmod",
    "partitions": [
        {
            "name": "cpu",
            "descr": "hosts without GPUs: host memory and the network",
            "scheduler": "sge",
            # ranks are started by mpirun, which reads the hosts of the job where your MPI knows Grid Engine
            # (Open MPI: `ompi_info | grep gridengine`)
            "launcher": "mpirun",
            "environs": ["gnu"],
            # what its hosts and network have: gpu cuda mpi, and crossnode where a job may take several hosts
            "features": ["mpi", "crossnode"],
            # the network adapters that MPI may use, where it should not choose itself; UCX takes those near each rank
            # "env_vars": [["UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1"]],
            # jobs in the queue at once; a matrix measured beside another job's traffic measures that too
            "max_jobs": 4,
            # ReFrame asks Grid Engine for no slots, and ignores "access": every option of a job stands here.
            # {num_tasks}, {num_nodes} and {num_tasks_per_node} are what the check wants
            "resources": [
                {
                    "name": "layout",
                    "options": [
                        # a parallel environment (`qconf -spl`) and slots: its allocation_rule must spread ranks as the
                        # check wants: $pe_slots for one host, a fixed number of each host for several
                        "-pe mpi {num_tasks}",
                        # the queue (`qconf -sql`)
                        "-q all.q",
                        # who pays; a reservation (`qrstat`)
                        # "-P project",
                        # "-ar 17",
                        # only hosts that have a property, a resource of your site (`qconf -sc`)
                        # "-l fabric=hdr",
                        # all hosts to itself, where your site has such a resource: `qconf -sc | grep EXCL`
                        # "-l exclusive=true",
                        # the shell that reads the job, whatever the queue's is
                        "-S /bin/bash",
                        # the login node's environment variables, as Slurm and PBS would; without it, modules below
                        "-V",
                        # a job whose host is lost does not begin again: half of its output would be there already
                        "-r n",
                    ],
                },
                # how a job asks for a certain host: -S on=node017
                {"name": "node", "options": ["-l hostname={host}"]},
            ],
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
            "descr": "hosts with GPUs",
            "scheduler": "sge",
            "launcher": "mpirun",
            "environs": ["gnu-cuda"],
            "features": ["gpu", "cuda", "mpi", "crossnode"],
            "max_jobs": 4,
            "resources": [
                {"name": "layout", "options": ["-pe mpi {num_tasks}", "-q gpu.q", "-S /bin/bash", "-V", "-r n"]},
                # how this site asks for GPUs: checks say only how many; a type of node with all of its GPUs, as
                # abci.py has, needs no such line
                {"name": "_rfm_gpu", "options": ["-l gpu={num_gpus_per_node}"]},
                {"name": "node", "options": ["-l hostname={host}"]},
            ],
            # the GPUs of a host; or config/topology/sge-example-gpu/devices.json, as `linkmatrix detect` writes it
            "devices": [{"type": "gpu", "arch": "sm_90", "model": "NVIDIA H200", "num_devices": 8}],
            "extras": {
                # the table in config/references that measurements are compared with; without one they are NOT JUDGED
                # "reference": "sge-example",
                # the most nodes of a job between all nodes; without it, such a job takes all nodes that are up
                # "nodes": 512,
                # MPI must take the addresses of GPUs: a matrix between GPUs whose bytes went through host memory fails
                # "gpudirect": True,
                # MPI must have loaded GDRCopy; the sweeps of pairs of GPUs are measured without it too
                # "gdrcopy": True,
                # what every pair of GPUs of a host must have; what is left out is not judged
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
