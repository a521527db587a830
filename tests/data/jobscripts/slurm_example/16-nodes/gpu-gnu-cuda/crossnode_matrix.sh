#!/bin/bash
#SBATCH --job-name="rfm_crossnode_matrix_HASH"
#SBATCH --ntasks=128
#SBATCH --ntasks-per-node=8
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:30:0
#SBATCH --exclusive
#SBATCH --nodes=16
#SBATCH --partition=gpu
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --mapping affine --record record.json --max-display 1024
