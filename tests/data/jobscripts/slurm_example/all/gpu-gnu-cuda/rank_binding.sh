#!/bin/bash
#SBATCH --job-name="rfm_rank_binding"
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=8
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:5:0
#SBATCH --exclusive
#SBATCH --nodes=1
#SBATCH --partition=gpu
#SBATCH --no-requeue
#SBATCH --gpus-per-node=8
export SLURM_KILL_BAD_EXIT=1
srun --cpu-bind=cores --gpu-bind=none ./binding.sh
