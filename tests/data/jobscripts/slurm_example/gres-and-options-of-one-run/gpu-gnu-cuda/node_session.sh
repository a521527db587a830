#!/bin/bash
#SBATCH --job-name="rfm_node_session_HASH"
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=8
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:24:0
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --nodes=1
#SBATCH --partition=gpu
#SBATCH --no-requeue
#SBATCH --gres=gpu:8
#SBATCH --account=project
#SBATCH --qos=high
#SBATCH --reservation=acceptance
#SBATCH --constraint=h200
#SBATCH --exclude=node[3-4]
export SLURM_KILL_BAD_EXIT=1
export SLURM_WAIT=50
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process1/record.json --asked-by CHECK --backend cuda > process1/out 2> process1/err
rm -rf process2; mkdir -p process2
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi --memory device > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --asked-by CHECK --backend mpi > process3/out 2> process3/err
code=$?; echo $SECONDS > seconds; (exit $code)
