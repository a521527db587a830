#!/bin/bash
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
mkdir -p process1
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 3840 --record process1/record.json --asked-by CHECK --backend cuda > process1/out 2> process1/err
[ -e process1/record.json ] || { mkdir -p process1/topology; STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process1/topology/record.json --asked-by CHECK --backend cuda > process1/topology/out 2> process1/topology/err; }
mkdir -p process2/ranks
mpirun -np 4 --bind-to core REPOSITORY/src/binding/binding.sh --into process2/ranks STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi --memory device > process2/out 2> process2/err
mkdir -p process3
mpirun -np 4 --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --asked-by CHECK --backend mpi > process3/out 2> process3/err
mkdir -p process4
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --timeout 660 --record process4/record.json --asked-by CHECK --sweep 1KiB:1GiB:4 > process4/out 2> process4/err
mkdir -p process5
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process5/record.json --asked-by CHECK --size 256MiB > process5/out 2> process5/err
mkdir -p process6
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process6/record.json --asked-by CHECK > process6/out 2> process6/err
mkdir -p process7
mpirun -np 4 --bind-to core STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process7/record.json --asked-by CHECK --size 4KiB,4MiB > process7/out 2> process7/err
mkdir -p process8
REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 --topology nvbandwidth -j -b 512 -t host_to_device_memcpy_ce device_to_host_memcpy_ce host_to_device_bidirectional_memcpy_ce device_to_device_memcpy_read_ce device_to_device_memcpy_write_ce device_to_device_bidirectional_memcpy_write_ce device_to_device_memcpy_read_sm device_to_device_memcpy_write_sm device_to_device_latency_sm device_local_copy > process8/out 2> process8/err
mkdir -p process9
REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 --topology p2pBandwidthLatencyTest --numElems=40000000 > process9/out 2> process9/err
mkdir -p process10
REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 all_reduce_perf -b 16384 -e 1073741824 -f 4 -g 4 > process10/out 2> process10/err
mkdir -p process11
REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 all_gather_perf -b 16384 -e 1073741824 -f 4 -g 4 > process11/out 2> process11/err
mkdir -p process12
REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 reduce_scatter_perf -b 16384 -e 1073741824 -f 4 -g 4 > process12/out 2> process12/err
mkdir -p process13
REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 broadcast_perf -b 16384 -e 1073741824 -f 4 -g 4 > process13/out 2> process13/err
mkdir -p process14
REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 reduce_perf -b 16384 -e 1073741824 -f 4 -g 4 > process14/out 2> process14/err
mkdir -p process15
REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 alltoall_perf -b 16384 -e 1073741824 -f 4 -g 4 > process15/out 2> process15/err
mkdir -p process16
REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 sendrecv_perf -b 16384 -e 1073741824 -f 4 -g 4 > process16/out 2> process16/err
mkdir -p process17
mpirun -np 2 --bind-to core REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process17/out 2> process17/err
mkdir -p process18
mpirun -np 2 --bind-to core REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process18/out 2> process18/err
mkdir -p process19
mpirun -np 2 --bind-to core REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process19/out 2> process19/err
mkdir -p process20
STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process20/record.json --asked-by CHECK --bodies 65536,262144,1048576 --backend cuda > process20/out 2> process20/err
mkdir -p process21
mpirun -np 4 --bind-to core STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process21/record.json --asked-by CHECK --bodies 2048,8192 > process21/out 2> process21/err
