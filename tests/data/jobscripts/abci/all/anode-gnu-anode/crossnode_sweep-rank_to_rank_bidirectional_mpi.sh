#!/bin/bash
#$ -N "rfm_crossnode_sweep_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd /tmp/pytest-of-root/pytest-169/test_job_scripts_are_these_abc0/results0/stage/20261121T090014-963/abci/anode/gnu-anode/crossnode_sweep_131ca1d6
#$ -l h_rt=0:30:0
#$ -l rt_AF=2
#$ -S /bin/bash
mpirun -np 2 STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --sweep 1:4MiB:4 --record record.json --max-display 1024
