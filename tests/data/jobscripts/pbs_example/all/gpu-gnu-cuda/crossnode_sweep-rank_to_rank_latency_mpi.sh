#!/bin/bash
#PBS -N rfm_crossnode_s
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:30:0
#PBS -l select=2:mpiprocs=1:ncpus=1
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/crossnode_sweep
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --sweep 0:4MiB:4 --record record.json --max-display 1024
