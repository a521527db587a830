#!/bin/bash
#PBS -N rfm_rank_p2p_HASH
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:30:0
#PBS -l select=1:mpiprocs=8:ncpus=8:ngpus=8
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/rank_p2p
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --record record.json --max-display 1024
