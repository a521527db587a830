#!/bin/bash
#$ -N "rfm_node_sweep_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/node_sweep
#$ -l h_rt=0:12:0
#$ -pe mpi 1
#$ -q all.q
#$ -S /bin/bash
#$ -V
#$ -r n
#$ -l hostname=n01
rm -rf process1; mkdir -p process1
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend host > process1/out 2> process1/err
code=$?; echo $SECONDS > seconds; (exit $code)
