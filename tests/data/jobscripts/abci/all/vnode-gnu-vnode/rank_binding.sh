#!/bin/bash
#$ -N "rfm_rank_binding"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/rank_binding
#$ -l h_rt=0:5:0
#$ -l rt_F=1
#$ -S /bin/bash
#$ -r n
mpirun -np 4 --map-by ppr:4:node ./binding.sh
