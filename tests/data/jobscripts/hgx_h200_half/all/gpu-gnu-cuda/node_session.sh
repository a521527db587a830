#!/bin/bash
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 3840 --record process1/record.json --asked-by CHECK --backend cuda > process1/out 2> process1/err
[ -e process1/record.json ] || { rm -rf process1/topology; mkdir -p process1/topology; STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process1/topology/record.json --asked-by CHECK --backend cuda > process1/topology/out 2> process1/topology/err; }
rm -rf process2; mkdir -p process2/ranks
mpirun -np 4 --bind-to core STAGE/build_linkmatrix/prefix/bin/binding.sh --into process2/ranks STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi --memory device > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
mpirun -np 4 --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --asked-by CHECK --backend mpi > process3/out 2> process3/err
rm -rf process4; mkdir -p process4
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --timeout 660 --record process4/record.json --asked-by CHECK --sweep 1KiB:1GiB:4 > process4/out 2> process4/err
rm -rf process5; mkdir -p process5
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process5/record.json --asked-by CHECK --size 256MiB > process5/out 2> process5/err
rm -rf process6; mkdir -p process6
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process6/record.json --asked-by CHECK > process6/out 2> process6/err
rm -rf process7; mkdir -p process7
mpirun -np 4 --bind-to core STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process7/record.json --asked-by CHECK --size 4KiB,4MiB > process7/out 2> process7/err
rm -rf process8; mkdir -p process8
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 --topology nvbandwidth -j -b 512 -t host_to_device_memcpy_ce device_to_host_memcpy_ce host_to_device_bidirectional_memcpy_ce device_to_device_memcpy_read_ce device_to_device_memcpy_write_ce device_to_device_bidirectional_memcpy_write_ce device_to_device_memcpy_read_sm device_to_device_memcpy_write_sm device_to_device_latency_sm device_local_copy > process8/out 2> process8/err
rm -rf process9; mkdir -p process9
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 --topology p2pBandwidthLatencyTest --numElems=40000000 > process9/out 2> process9/err
rm -rf process10; mkdir -p process10
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 all_reduce_perf -b 16384 -e 1073741824 -f 4 -g 4 > process10/out 2> process10/err
rm -rf process11; mkdir -p process11
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 all_gather_perf -b 16384 -e 1073741824 -f 4 -g 4 > process11/out 2> process11/err
rm -rf process12; mkdir -p process12
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 reduce_scatter_perf -b 16384 -e 1073741824 -f 4 -g 4 > process12/out 2> process12/err
rm -rf process13; mkdir -p process13
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 broadcast_perf -b 16384 -e 1073741824 -f 4 -g 4 > process13/out 2> process13/err
rm -rf process14; mkdir -p process14
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 reduce_perf -b 16384 -e 1073741824 -f 4 -g 4 > process14/out 2> process14/err
rm -rf process15; mkdir -p process15
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 alltoall_perf -b 16384 -e 1073741824 -f 4 -g 4 > process15/out 2> process15/err
rm -rf process16; mkdir -p process16
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 sendrecv_perf -b 16384 -e 1073741824 -f 4 -g 4 > process16/out 2> process16/err
rm -rf process17; mkdir -p process17
mpirun -np 2 --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process17/out 2> process17/err
rm -rf process18; mkdir -p process18
mpirun -np 2 --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process18/out 2> process18/err
rm -rf process19; mkdir -p process19
mpirun -np 2 --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process19/out 2> process19/err
rm -rf process20; mkdir -p process20
STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process20/record.json --asked-by CHECK --bodies 65536,262144,1048576 --backend cuda > process20/out 2> process20/err
rm -rf process21; mkdir -p process21
STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process21/record.json --asked-by CHECK --bodies 65536,262144 --backend cuda > process21/out 2> process21/err
rm -rf process22; mkdir -p process22
mpirun -np 4 --bind-to core STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process22/record.json --asked-by CHECK --bodies 2048,8192 > process22/out 2> process22/err
code=$?; echo $SECONDS > seconds; (exit $code)
