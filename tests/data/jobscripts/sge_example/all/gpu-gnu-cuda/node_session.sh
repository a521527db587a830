#!/bin/bash
#$ -N "rfm_node_session_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/node_session
#$ -l h_rt=1:54:0
#$ -pe mpi 8
#$ -q gpu.q
#$ -S /bin/bash
#$ -V
#$ -r n
#$ -l gpu=8
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
mkdir -p process1
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 3600 --record process1/record.json --max-display 1024 --asked-by CHECK --backend cuda > process1/out 2> process1/err
[ -e process1/record.json ] || { mkdir -p process1/topology; STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process1/topology/record.json --max-display 1024 --asked-by CHECK --backend cuda > process1/topology/out 2> process1/topology/err; }
mkdir -p process2/ranks
mpirun -np 8 --map-by numa --bind-to core REPOSITORY/src/binding/binding.sh --into process2/ranks STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --max-display 1024 --asked-by CHECK --backend mpi --memory device > process2/out 2> process2/err
mkdir -p process3
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --max-display 1024 --asked-by CHECK --backend mpi > process3/out 2> process3/err
mkdir -p process4
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process4/record.json --max-display 1024 --asked-by CHECK --size 4KiB,4MiB > process4/out 2> process4/err
mkdir -p process5
STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process5/record.json --max-display 1024 --asked-by CHECK --bodies 65536,262144,1048576 --backend cuda > process5/out 2> process5/err
mkdir -p process6
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process6/record.json --max-display 1024 --asked-by CHECK --bodies 2048,8192 > process6/out 2> process6/err
