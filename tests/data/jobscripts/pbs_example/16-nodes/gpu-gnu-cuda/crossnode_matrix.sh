#!/bin/bash
#PBS -N rfm_crossnode_m
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:30:0
#PBS -l select=16:mpiprocs=8:ncpus=8
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/crossnode_matrix
mpirun -np 128 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --mapping affine --record record.json --max-display 1024
