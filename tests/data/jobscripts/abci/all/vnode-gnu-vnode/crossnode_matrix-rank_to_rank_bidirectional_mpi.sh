#!/bin/bash
#$ -N "rfm_crossnode_matrix_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd /tmp/pytest-of-root/pytest-169/test_job_scripts_are_these_abc0/results0/stage/20261121T090014-963/abci/vnode/gnu-vnode/crossnode_matrix_6c6afb84
#$ -l h_rt=0:30:0
#$ -l rt_F=2
#$ -S /bin/bash
mpirun -np 8 STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend mpi --mapping affine --record record.json --max-display 1024
