#!/bin/bash
#$ -N "rfm_crossnode_sweep_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/crossnode_sweep
#$ -l h_rt=0:30:0
#$ -pe mpi 2
#$ -q gpu.q
#$ -S /bin/bash
#$ -V
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --sweep 0:4MiB:4 --record record.json --max-display 1024
