#!/bin/bash
#PBS -N rfm_intranode_p
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:30:0
#PBS -l select=1:mpiprocs=1:ncpus=1:ngpus=8
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/intranode_p2p
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend cuda --record record.json --max-display 1024
