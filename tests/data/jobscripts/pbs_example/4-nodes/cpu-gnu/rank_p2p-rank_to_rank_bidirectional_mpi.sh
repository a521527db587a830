#!/bin/bash
#PBS -N rfm_rank_p2p_HASH
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:30:0
#PBS -l select=4:mpiprocs=2:ncpus=2
#PBS -q workq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd /tmp/pytest-of-root/pytest-169/test_job_scripts_are_these_pbs1/results0/stage/20261121T090119-3169/pbs-example/cpu/gnu/rank_p2p_80261f44
mpirun -np 8 STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --record record.json --max-display 1024
