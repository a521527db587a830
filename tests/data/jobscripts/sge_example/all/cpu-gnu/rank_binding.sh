#!/bin/bash
#$ -N "rfm_rank_binding"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/rank_binding
#$ -l h_rt=0:5:0
#$ -pe mpi 2
#$ -q all.q
#$ -S /bin/bash
#$ -V
#$ -r n
mpirun -np 2 --map-by numa --bind-to core ./binding.sh
