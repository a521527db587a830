#!/bin/bash
#$ -N "rfm_crossnode_sweep_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/crossnode_sweep
#$ -l h_rt=0:30:0
#$ -l rt_AF=2
#$ -S /bin/bash
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --sweep 1:4MiB:4 --record record.json --max-display 1024
