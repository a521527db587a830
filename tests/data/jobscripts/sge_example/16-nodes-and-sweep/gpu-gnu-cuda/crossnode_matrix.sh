#!/bin/bash
#$ -N "rfm_crossnode_matrix_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/crossnode_matrix
#$ -l h_rt=0:12:0
#$ -pe mpi 128
#$ -q gpu.q
#$ -S /bin/bash
#$ -V
#$ -r n
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
mpirun -np 128 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi > process1/out 2> process1/err
code=$?; echo $SECONDS > seconds; (exit $code)
