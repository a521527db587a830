#!/bin/bash
#SBATCH --job-name="rfm_rank_p2p_HASH"
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=2
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:30:0
#SBATCH --exclusive
#SBATCH --nodes=1
#SBATCH --partition=cpu
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --record record.json --max-display 1024
