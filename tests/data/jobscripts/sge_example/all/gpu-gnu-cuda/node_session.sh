#!/bin/bash
#$ -N "rfm_node_session_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/node_session
#$ -l h_rt=1:26:0
#$ -pe mpi 8
#$ -q gpu.q
#$ -S /bin/bash
#$ -V
#$ -r n
#$ -l gpu=8
mkdir -p process1
mpirun -np 8 --map-by numa --bind-to core REPOSITORY/src/binding/binding.sh > process1/out 2> process1/err
mkdir -p process2
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 3600 --record process2/record.json --max-display 1024 --asked-by CHECK --backend cuda > process2/out 2> process2/err
[ -e process2/record.json ] || { mkdir -p process2/topology; STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process2/topology/record.json --max-display 1024 --asked-by CHECK --backend cuda > process2/topology/out 2> process2/topology/err; }
mkdir -p process3
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --max-display 1024 --asked-by CHECK --backend mpi --memory device > process3/out 2> process3/err
mkdir -p process4
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process4/record.json --max-display 1024 --asked-by CHECK --backend mpi > process4/out 2> process4/err
