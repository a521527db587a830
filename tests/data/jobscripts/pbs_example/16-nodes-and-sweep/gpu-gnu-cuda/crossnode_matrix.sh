#!/bin/bash
#PBS -N rfm_crossnode_m
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:12:0
#PBS -l select=16:mpiprocs=8:ncpus=8
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/crossnode_matrix
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
mpirun -np 128 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi > process1/out 2> process1/err
code=$?; echo $SECONDS > seconds; (exit $code)
