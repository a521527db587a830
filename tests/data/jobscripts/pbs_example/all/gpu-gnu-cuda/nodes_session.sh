#!/bin/bash
#PBS -N rfm_nodes_sessi
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=2:47:0
#PBS -l select=2:mpiprocs=8:ncpus=8:ngpus=8
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/nodes_session
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 > process1/out 2> process1/err
rm -rf process2; mkdir -p process2
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 8 --timeout 300 > process3/out 2> process3/err
rm -rf process4; mkdir -p process4
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process4/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 > process4/out 2> process4/err
rm -rf process5; mkdir -p process5
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process5/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 > process5/out 2> process5/err
rm -rf process6; mkdir -p process6
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process6/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 8 --timeout 300 > process6/out 2> process6/err
rm -rf process7; mkdir -p process7
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process7/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 --memory device > process7/out 2> process7/err
rm -rf process8; mkdir -p process8
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process8/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 --transport staged --memory device > process8/out 2> process8/err
rm -rf process9; mkdir -p process9
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process9/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 --memory device > process9/out 2> process9/err
rm -rf process10; mkdir -p process10
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process10/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 --transport staged --memory device > process10/out 2> process10/err
rm -rf process11; mkdir -p process11
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process11/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 8 --timeout 300 --memory device > process11/out 2> process11/err
rm -rf process12; mkdir -p process12
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process12/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 8 --timeout 300 --transport staged --memory device > process12/out 2> process12/err
rm -rf process13; mkdir -p process13
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process13/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 --memory device > process13/out 2> process13/err
rm -rf process14; mkdir -p process14
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process14/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 --transport staged --memory device > process14/out 2> process14/err
rm -rf process15; mkdir -p process15
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process15/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 --memory device > process15/out 2> process15/err
rm -rf process16; mkdir -p process16
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process16/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 --transport staged --memory device > process16/out 2> process16/err
rm -rf process17; mkdir -p process17
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process17/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 8 --timeout 300 --memory device > process17/out 2> process17/err
rm -rf process18; mkdir -p process18
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process18/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 8 --timeout 300 --transport staged --memory device > process18/out 2> process18/err
rm -rf process19; mkdir -p process19
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process19/record.json --asked-by CHECK --backend mpi > process19/out 2> process19/err
rm -rf process20; mkdir -p process20
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process20/record.json --asked-by CHECK --backend mpi > process20/out 2> process20/err
rm -rf process21; mkdir -p process21
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process21/record.json --asked-by CHECK --backend mpi --memory device > process21/out 2> process21/err
rm -rf process22; mkdir -p process22
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process22/record.json --asked-by CHECK --sweep 1KiB:16MiB:4 > process22/out 2> process22/err
rm -rf process23; mkdir -p process23
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process23/out 2> process23/err
rm -rf process24; mkdir -p process24
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process24/record.json --asked-by CHECK --bodies 262144,1048576 --memory device > process24/out 2> process24/err
rm -rf process25; mkdir -p process25
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process25/record.json --asked-by CHECK --bodies 65536 --memory device > process25/out 2> process25/err
rm -rf process26; mkdir -p process26
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process26/record.json --asked-by CHECK --bodies 65536,262144 --memory device > process26/out 2> process26/err
code=$?; echo $SECONDS > seconds; (exit $code)
