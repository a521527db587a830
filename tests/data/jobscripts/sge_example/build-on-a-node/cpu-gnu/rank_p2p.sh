#!/bin/bash
#$ -N "rfm_rank_p2p_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/rank_p2p
#$ -l h_rt=0:30:0
#$ -pe mpi 2
#$ -q all.q
#$ -S /bin/bash
#$ -V
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --record record.json --max-display 1024
