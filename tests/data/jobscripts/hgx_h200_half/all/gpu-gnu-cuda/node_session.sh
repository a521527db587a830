#!/bin/bash
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
mkdir -p process1
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 3600 --record process1/record.json --max-display 1024 --asked-by CHECK --backend cuda > process1/out 2> process1/err
[ -e process1/record.json ] || { mkdir -p process1/topology; STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process1/topology/record.json --max-display 1024 --asked-by CHECK --backend cuda > process1/topology/out 2> process1/topology/err; }
mkdir -p process2/ranks
mpirun -np 4 --bind-to core REPOSITORY/src/binding/binding.sh --into process2/ranks STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --max-display 1024 --asked-by CHECK --backend mpi --memory device > process2/out 2> process2/err
mkdir -p process3
mpirun -np 4 --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --max-display 1024 --asked-by CHECK --backend mpi > process3/out 2> process3/err
mkdir -p process4
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --timeout 660 --record process4/record.json --max-display 1024 --asked-by CHECK --sweep 1KiB:1GiB:4 > process4/out 2> process4/err
mkdir -p process5
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process5/record.json --max-display 1024 --asked-by CHECK --size 256MiB > process5/out 2> process5/err
mkdir -p process6
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process6/record.json --max-display 1024 --asked-by CHECK > process6/out 2> process6/err
mkdir -p process7
mpirun -np 4 --bind-to core STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process7/record.json --max-display 1024 --asked-by CHECK --size 4KiB,4MiB > process7/out 2> process7/err
mkdir -p process8
STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process8/record.json --max-display 1024 --asked-by CHECK --bodies 65536,262144,1048576 --backend cuda > process8/out 2> process8/err
mkdir -p process9
mpirun -np 4 --bind-to core STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process9/record.json --max-display 1024 --asked-by CHECK --bodies 2048,8192 > process9/out 2> process9/err
