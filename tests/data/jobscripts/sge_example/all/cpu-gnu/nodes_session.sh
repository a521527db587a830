#!/bin/bash
#$ -N "rfm_nodes_session_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/nodes_session
#$ -l h_rt=1:37:0
#$ -pe mpi 2
#$ -q all.q
#$ -S /bin/bash
#$ -V
#$ -r n
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 > process1/out 2> process1/err
rm -rf process2; mkdir -p process2
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --asked-by CHECK --backend mpi > process3/out 2> process3/err
rm -rf process4; mkdir -p process4
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process4/record.json --asked-by CHECK --backend mpi > process4/out 2> process4/err
rm -rf process5; mkdir -p process5
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process5/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:4 > process5/out 2> process5/err
rm -rf process6; mkdir -p process6
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process6/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process6/out 2> process6/err
rm -rf process7; mkdir -p process7
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process7/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:4 > process7/out 2> process7/err
rm -rf process8; mkdir -p process8
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process8/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process8/out 2> process8/err
rm -rf process9; mkdir -p process9
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process9/record.json --asked-by CHECK --sweep 1KiB:16MiB:4 > process9/out 2> process9/err
rm -rf process10; mkdir -p process10
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process10/out 2> process10/err
rm -rf process11; mkdir -p process11
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process11/out 2> process11/err
rm -rf process12; mkdir -p process12
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process12/out 2> process12/err
code=$?; echo $SECONDS > seconds; (exit $code)
