#!/bin/bash
#PBS -N rfm_gpu_topolog
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:5:0
#PBS -l select=1:mpiprocs=1:ncpus=1:ngpus=8
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/gpu_topology
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --backend cuda --record record.json --max-display 1024
