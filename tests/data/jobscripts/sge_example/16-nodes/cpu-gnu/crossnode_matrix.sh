#!/bin/bash
#$ -N "rfm_crossnode_matrix_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/crossnode_matrix
#$ -l h_rt=0:30:0
#$ -pe mpi 16
#$ -q all.q
#$ -S /bin/bash
#$ -V
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --mapping affine --record record.json --max-display 1024
