#!/bin/bash
#$ -N "rfm_rank_binding"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/rank_binding
#$ -l h_rt=0:5:0
#$ -pe mpi 8
#$ -q gpu.q
#$ -S /bin/bash
#$ -V
#$ -r n
#$ -l gpu=8
mpirun -np 8 --map-by numa --bind-to core ./binding.sh
