#!/bin/bash
#SBATCH --job-name="rfm_rank_binding"
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=2
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:5:0
#SBATCH --exclusive
#SBATCH --nodes=1
#SBATCH --partition=cpu
#SBATCH --no-requeue
export SLURM_KILL_BAD_EXIT=1
srun --cpu-bind=cores ./binding.sh
