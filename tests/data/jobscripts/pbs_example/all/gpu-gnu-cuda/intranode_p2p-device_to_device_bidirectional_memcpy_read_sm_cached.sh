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
cd /tmp/pytest-of-root/pytest-169/test_job_scripts_are_these_pbs0/results0/stage/20261121T090101-2679/pbs-example/gpu/gnu-cuda/intranode_p2p_c60d16b7
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend cuda --record record.json --max-display 1024
