#!/bin/bash
#$ -N "rfm_intranode_p2p_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/intranode_p2p
#$ -l h_rt=0:30:0
#$ -pe mpi 1
#$ -q gpu.q
#$ -S /bin/bash
#$ -V
#$ -l gpu=8
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend cuda --record record.json --max-display 1024
