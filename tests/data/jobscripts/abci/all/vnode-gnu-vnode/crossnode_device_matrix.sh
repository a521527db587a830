#!/bin/bash
#$ -N "rfm_crossnode_device_matrix_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/crossnode_device_matrix
#$ -l h_rt=0:30:0
#$ -l rt_F=2
#$ -S /bin/bash
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --mapping affine --memory device --record record.json --max-display 1024
