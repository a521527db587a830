#!/bin/bash
#PBS -N rfm_rank_bindin
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:5:0
#PBS -l select=1:mpiprocs=2:ncpus=2
#PBS -q workq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/rank_binding
mpirun -np 2 --map-by numa --bind-to core ./binding.sh
