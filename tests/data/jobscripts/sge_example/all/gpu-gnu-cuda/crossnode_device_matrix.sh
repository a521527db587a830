#!/bin/bash
#$ -N "rfm_crossnode_device_matrix_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/crossnode_device_matrix
#$ -l h_rt=0:30:0
#$ -pe mpi 16
#$ -q gpu.q
#$ -S /bin/bash
#$ -V
#$ -l gpu=8
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --mapping affine --memory device --record record.json --max-display 1024
