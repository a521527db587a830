#!/bin/bash
#SBATCH --job-name="rfm_node_session_HASH"
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=8
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=1:54:0
#SBATCH --exclusive
#SBATCH --nodes=1
#SBATCH --partition=gpu
#SBATCH --no-requeue
#SBATCH --gpus-per-node=8
export SLURM_KILL_BAD_EXIT=1
export SLURM_WAIT=60
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
mkdir -p process1
srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 3600 --record process1/record.json --max-display 1024 --asked-by CHECK --backend cuda > process1/out 2> process1/err
[ -e process1/record.json ] || { mkdir -p process1/topology; srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process1/topology/record.json --max-display 1024 --asked-by CHECK --backend cuda > process1/topology/out 2> process1/topology/err; }
mkdir -p process2/ranks
srun --cpu-bind=cores --gpu-bind=none REPOSITORY/src/binding/binding.sh --into process2/ranks STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --max-display 1024 --asked-by CHECK --backend mpi --memory device > process2/out 2> process2/err
mkdir -p process3
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --max-display 1024 --asked-by CHECK --backend mpi > process3/out 2> process3/err
mkdir -p process4
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process4/record.json --max-display 1024 --asked-by CHECK --size 4KiB,4MiB > process4/out 2> process4/err
mkdir -p process5
srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpu-bind=none STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process5/record.json --max-display 1024 --asked-by CHECK --bodies 65536,262144,1048576 --backend cuda > process5/out 2> process5/err
mkdir -p process6
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process6/record.json --max-display 1024 --asked-by CHECK --bodies 2048,8192 > process6/out 2> process6/err
