#!/bin/bash
#$ -N "rfm_node_session_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/node_session
#$ -l h_rt=1:26:0
#$ -l rt_AF=1
#$ -S /bin/bash
#$ -r n
mkdir -p process1
mpirun -np 8 --map-by ppr:8:node REPOSITORY/src/binding/binding.sh > process1/out 2> process1/err
mkdir -p process2
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 3600 --record process2/record.json --max-display 1024 --asked-by CHECK --backend cuda > process2/out 2> process2/err
[ -e process2/record.json ] || { mkdir -p process2/topology; STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process2/topology/record.json --max-display 1024 --asked-by CHECK --backend cuda > process2/topology/out 2> process2/topology/err; }
mkdir -p process3
mpirun -np 8 --map-by ppr:8:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --max-display 1024 --asked-by CHECK --backend mpi --memory device > process3/out 2> process3/err
mkdir -p process4
mpirun -np 8 --map-by ppr:8:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process4/record.json --max-display 1024 --asked-by CHECK --backend mpi > process4/out 2> process4/err
