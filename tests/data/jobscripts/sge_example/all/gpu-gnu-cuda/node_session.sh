#!/bin/bash
#$ -N "rfm_node_session_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/node_session
#$ -l h_rt=2:33:0
#$ -pe mpi 8
#$ -q gpu.q
#$ -S /bin/bash
#$ -V
#$ -r n
#$ -l gpu=8
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 3840 --record process1/record.json --asked-by CHECK --backend cuda > process1/out 2> process1/err
[ -e process1/record.json ] || { rm -rf process1/topology; mkdir -p process1/topology; STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process1/topology/record.json --asked-by CHECK --backend cuda > process1/topology/out 2> process1/topology/err; }
rm -rf process2; mkdir -p process2/ranks
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/binding.sh --into process2/ranks STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi --memory device > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --asked-by CHECK --backend mpi > process3/out 2> process3/err
rm -rf process4; mkdir -p process4
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process4/record.json --asked-by CHECK --size 4KiB,4MiB > process4/out 2> process4/err
rm -rf process5; mkdir -p process5
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 --topology nvbandwidth -j -b 512 -t host_to_device_memcpy_ce device_to_host_memcpy_ce host_to_device_bidirectional_memcpy_ce device_to_device_memcpy_read_ce device_to_device_memcpy_write_ce device_to_device_bidirectional_memcpy_write_ce device_to_device_memcpy_read_sm device_to_device_memcpy_write_sm device_to_device_latency_sm device_local_copy > process5/out 2> process5/err
rm -rf process6; mkdir -p process6
STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 --topology p2pBandwidthLatencyTest --numElems=40000000 > process6/out 2> process6/err
rm -rf process7; mkdir -p process7
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process7/out 2> process7/err
rm -rf process8; mkdir -p process8
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process8/out 2> process8/err
rm -rf process9; mkdir -p process9
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process9/out 2> process9/err
rm -rf process10; mkdir -p process10
STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process10/record.json --asked-by CHECK --bodies 65536,262144,1048576 --backend cuda > process10/out 2> process10/err
rm -rf process11; mkdir -p process11
STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process11/record.json --asked-by CHECK --bodies 65536,262144 --backend cuda > process11/out 2> process11/err
rm -rf process12; mkdir -p process12
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process12/record.json --asked-by CHECK --bodies 2048,8192 > process12/out 2> process12/err
code=$?; echo $SECONDS > seconds; (exit $code)
