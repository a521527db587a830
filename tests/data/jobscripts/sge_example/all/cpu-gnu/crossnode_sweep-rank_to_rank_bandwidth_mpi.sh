#!/bin/bash
#$ -N "rfm_crossnode_sweep_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd /tmp/pytest-of-root/pytest-169/test_job_scripts_are_these_sge0/results0/stage/20261121T090122-3208/sge-example/cpu/gnu/crossnode_sweep_d4423a14
#$ -l h_rt=0:30:0
#$ -pe mpi 2
#$ -q all.q
#$ -S /bin/bash
#$ -V
mpirun -np 2 STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --sweep 1:4MiB:4 --record record.json --max-display 1024
