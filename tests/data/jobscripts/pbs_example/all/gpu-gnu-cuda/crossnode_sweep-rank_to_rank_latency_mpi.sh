#!/bin/bash
#PBS -N rfm_crossnode_s
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:12:0
#PBS -l select=2:mpiprocs=1:ncpus=1
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/crossnode_sweep
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process1/out 2> process1/err
code=$?; echo $SECONDS > seconds; (exit $code)
