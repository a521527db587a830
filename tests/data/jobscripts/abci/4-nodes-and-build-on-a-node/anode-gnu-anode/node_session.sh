#!/bin/bash
#$ -N "rfm_node_session_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/node_session
#$ -l h_rt=0:12:0
#$ -l rt_AF=4
#$ -S /bin/bash
#$ -r n
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
mpirun -np 32 --map-by ppr:8:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi > process1/out 2> process1/err
code=$?; echo $SECONDS > seconds; (exit $code)
