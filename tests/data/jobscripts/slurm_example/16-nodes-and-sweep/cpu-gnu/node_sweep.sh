#!/bin/bash
#SBATCH --job-name="rfm_node_sweep_HASH"
#SBATCH --ntasks=1
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:12:0
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --nodes=1
#SBATCH --partition=cpu
#SBATCH --no-requeue
#SBATCH --nodelist=n01
export SLURM_KILL_BAD_EXIT=1
export SLURM_WAIT=50
rm -rf process1; mkdir -p process1
srun --cpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend host > process1/out 2> process1/err
code=$?; echo $SECONDS > seconds; (exit $code)
