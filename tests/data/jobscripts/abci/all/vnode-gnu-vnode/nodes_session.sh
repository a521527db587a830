#!/bin/bash
#$ -N "rfm_nodes_session_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/nodes_session
#$ -l h_rt=0:52:0
#$ -l rt_F=2
#$ -S /bin/bash
#$ -r n
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
mkdir -p process1
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --max-display 1024 --asked-by CHECK --backend mpi > process1/out 2> process1/err
mkdir -p process2
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --max-display 1024 --asked-by CHECK --backend mpi > process2/out 2> process2/err
mkdir -p process3
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --max-display 1024 --asked-by CHECK --backend mpi --memory device > process3/out 2> process3/err
mkdir -p process4
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process4/record.json --max-display 1024 --asked-by CHECK --sweep 1KiB:16MiB:4 > process4/out 2> process4/err
mkdir -p process5
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process5/record.json --max-display 1024 --asked-by CHECK --bodies 262144,1048576 --memory device > process5/out 2> process5/err
