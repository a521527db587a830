#!/bin/bash
#SBATCH --job-name="rfm_crossnode_matrix_HASH"
#SBATCH --ntasks=16
#SBATCH --ntasks-per-node=1
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:12:0
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --nodes=16
#SBATCH --partition=cpu
#SBATCH --no-requeue
export SLURM_KILL_BAD_EXIT=1
export SLURM_WAIT=50
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi > process1/out 2> process1/err
code=$?; echo $SECONDS > seconds; (exit $code)
