#!/bin/bash
#$ -N "rfm_rank_p2p_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd /tmp/pytest-of-root/pytest-169/test_job_scripts_are_these_sge1/results0/stage/20261121T090132-3701/sge-example/cpu/gnu/rank_p2p_80261f44
#$ -l h_rt=0:30:0
#$ -pe mpi 8
#$ -q all.q
#$ -S /bin/bash
#$ -V
mpirun -np 8 STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --record record.json --max-display 1024
