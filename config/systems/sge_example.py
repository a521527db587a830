"""A cluster with Grid Engine: an example to copy. A comment explains each line that a site changes.

Copy it to config/systems/<your cluster>.py, replace the names, and run on the login node:

    reframe -C config/settings.py -c checks -R -r --system=<your cluster> --mode=quick

`linkmatrix detect --scheduler sge` writes a first file with all queues.

Settings of one run are options of the command line:

    -J P=project -J ar=17 -J 'l hostname=node17'
    -S time_limit=…
    -S max_pending_time=…                       (default: 8 hours)

Grid Engine reports neither how a job ended nor where it ran. The output of the program contains both.
"""

system = {
    # the name for --system=NAME. Folders of results and config/topology/NAME-PARTITION begin with it
    "name": "sge-example",
    "descr": "an example of a cluster with Grid Engine",
    # regular expressions of the names of the login nodes: on these hosts, ReFrame selects this system
    "hostnames": [r"sge-example-login\d+"],
    # the folder for the output of jobs, which login and compute nodes share (default: .linkmatrix in the clone)
    # "prefix": "/shared/you/linkmatrix",
    # the program behind `module`: "lmod", or "envmod" for Environment Modules 4.1 or later; without it, none is loaded.
    # Jobs get `module` with the environment variables of the login node (-V), or by `prepare_cmds` of a partition
    # "modules_system": "lmod",
    "partitions": [
        {
            "name": "cpu",
            "descr": "hosts without GPUs: host memory and the network",
            "scheduler": "sge",
            # mpirun starts the ranks. If your MPI was built with support for Grid Engine, it reads the hosts of the job
            # (Open MPI: `ompi_info | grep gridengine`)
            "launcher": "mpirun",
            "environs": ["gnu"],
            # gpu, cuda, mpi: hardware and libraries of the hosts. crossnode: a job may use several hosts
            "features": ["mpi", "crossnode"],
            # the network adapters of MPI. By default, UCX uses the adapters near each rank
            # "env_vars": [["UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1"]],
            # the maximum number of concurrent jobs: traffic of other jobs changes the results
            "max_jobs": 4,
            # ReFrame requests no slots of Grid Engine, and ignores "access". These lists contain all options of a job.
            # {num_tasks}, {num_nodes} and {num_tasks_per_node} are numbers of the check
            "resources": [
                {
                    "name": "layout",
                    "options": [
                        # parallel environment (`qconf -spl`) and slots. Its allocation_rule distributes the ranks:
                        # $pe_slots for one host, a fixed number per host for several hosts
                        "-pe mpi {num_tasks}",
                        # the queue (`qconf -sql`)
                        "-q all.q",
                        # the project, and a reservation (`qrstat`)
                        # "-P project",
                        # "-ar 17",
                        # a resource of your site that the hosts must have (`qconf -sc`)
                        # "-l fabric=hdr",
                        # exclusive hosts, if your site has this resource: `qconf -sc | grep EXCL`
                        # "-l exclusive=true",
                        # the shell of the job; otherwise the queue chooses the shell
                        "-S /bin/bash",
                        # pass the environment variables of the login node; without -V, set modules below
                        "-V",
                        # do not rerun a job whose host fails: it would find the output of the first start
                        "-r n",
                    ],
                },
                # the option that requests one host: -S on=node017
                {"name": "node", "options": ["-l hostname={host}"]},
            ],
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
            "descr": "hosts with GPUs",
            "scheduler": "sge",
            "launcher": "mpirun",
            "environs": ["gnu-cuda"],
            "features": ["gpu", "cuda", "mpi", "crossnode"],
            "max_jobs": 4,
            "resources": [
                {"name": "layout", "options": ["-pe mpi {num_tasks}", "-q gpu.q", "-S /bin/bash", "-V", "-r n"]},
                # the option that requests GPUs. Types of nodes that include all GPUs, as in abci.py, need no such line
                {"name": "_rfm_gpu", "options": ["-l gpu={num_gpus_per_node}"]},
                {"name": "node", "options": ["-l hostname={host}"]},
            ],
            # the GPUs of a host. `linkmatrix detect` writes config/topology/sge-example-gpu/devices.json instead
            "devices": [{"type": "gpu", "arch": "sm_90", "model": "NVIDIA H200", "num_devices": 8}],
            "extras": {
                # the table of config/references with which cells are compared; without it, the cells are NOT JUDGED
                # "reference": "sge-example",
                # the maximum number of nodes of a job between all nodes (default: all nodes that are up)
                # "nodes": 512,
                # require MPI to accept GPU addresses: a matrix between GPUs fails if its data uses host memory
                # "gpudirect": True,
                # require MPI to load GDRCopy; sweeps of pairs of GPUs are then also measured without GDRCopy
                # "gdrcopy": True,
                # the expected configuration of each pair of GPUs of a host; a missing key is not compared
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
