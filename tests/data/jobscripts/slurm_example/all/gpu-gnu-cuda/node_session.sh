#!/bin/bash
#SBATCH --job-name="rfm_node_session_HASH"
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=8
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=1:26:0
#SBATCH --exclusive
#SBATCH --nodes=1
#SBATCH --partition=gpu
#SBATCH --no-requeue
#SBATCH --gpus-per-node=8
export SLURM_KILL_BAD_EXIT=1
mkdir -p process1
srun --cpu-bind=cores --gpu-bind=none REPOSITORY/src/binding/binding.sh > process1/out 2> process1/err
mkdir -p process2
srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 3600 --record process2/record.json --max-display 1024 --asked-by CHECK --backend cuda > process2/out 2> process2/err
[ -e process2/record.json ] || { mkdir -p process2/topology; srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process2/topology/record.json --max-display 1024 --asked-by CHECK --backend cuda > process2/topology/out 2> process2/topology/err; }
mkdir -p process3
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --max-display 1024 --asked-by CHECK --backend mpi --memory device > process3/out 2> process3/err
mkdir -p process4
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process4/record.json --max-display 1024 --asked-by CHECK --backend mpi > process4/out 2> process4/err
