#!/bin/bash
#PBS -N rfm_node_sweep_
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:12:0
#PBS -l select=1:mpiprocs=1:ncpus=1:host=n01:ngpus=8
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/node_sweep
rm -rf process1; mkdir -p process1
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend cuda > process1/out 2> process1/err
code=$?; echo $SECONDS > seconds; (exit $code)
