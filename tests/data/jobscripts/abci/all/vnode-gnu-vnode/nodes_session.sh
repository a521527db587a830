#!/bin/bash
#$ -N "rfm_nodes_session_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/nodes_session
#$ -l h_rt=3:12:0
#$ -l rt_F=2
#$ -S /bin/bash
#$ -r n
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
mkdir -p process1
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 > process1/out 2> process1/err
mkdir -p process2
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 > process2/out 2> process2/err
mkdir -p process3
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 > process3/out 2> process3/err
mkdir -p process4
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process4/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 > process4/out 2> process4/err
mkdir -p process5
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process5/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 --memory device > process5/out 2> process5/err
mkdir -p process6
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process6/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 --transport staged --memory device > process6/out 2> process6/err
mkdir -p process7
mpirun -np 8 --map-by ppr:4:node env 'UCX_TLS=^gdr_copy' STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process7/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 --transport mpi --memory device > process7/out 2> process7/err
mkdir -p process8
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process8/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 --memory device > process8/out 2> process8/err
mkdir -p process9
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process9/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 --transport staged --memory device > process9/out 2> process9/err
mkdir -p process10
mpirun -np 8 --map-by ppr:4:node env 'UCX_TLS=^gdr_copy' STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process10/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 --transport mpi --memory device > process10/out 2> process10/err
mkdir -p process11
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process11/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 --memory device > process11/out 2> process11/err
mkdir -p process12
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process12/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 --transport staged --memory device > process12/out 2> process12/err
mkdir -p process13
mpirun -np 8 --map-by ppr:4:node env 'UCX_TLS=^gdr_copy' STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process13/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 --transport mpi --memory device > process13/out 2> process13/err
mkdir -p process14
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process14/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 --memory device > process14/out 2> process14/err
mkdir -p process15
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process15/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 --transport staged --memory device > process15/out 2> process15/err
mkdir -p process16
mpirun -np 8 --map-by ppr:4:node env 'UCX_TLS=^gdr_copy' STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process16/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 --transport mpi --memory device > process16/out 2> process16/err
mkdir -p process17
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process17/record.json --asked-by CHECK --backend mpi > process17/out 2> process17/err
mkdir -p process18
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process18/record.json --asked-by CHECK --backend mpi > process18/out 2> process18/err
mkdir -p process19
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process19/record.json --asked-by CHECK --backend mpi --memory device > process19/out 2> process19/err
mkdir -p process20
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process20/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:4 > process20/out 2> process20/err
mkdir -p process21
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process21/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process21/out 2> process21/err
mkdir -p process22
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process22/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:4 > process22/out 2> process22/err
mkdir -p process23
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process23/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process23/out 2> process23/err
mkdir -p process24
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process24/record.json --asked-by CHECK --sweep 1KiB:16MiB:4 > process24/out 2> process24/err
mkdir -p process25
mpirun -np 2 --map-by ppr:1:node REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process25/out 2> process25/err
mkdir -p process26
mpirun -np 2 --map-by ppr:1:node REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process26/out 2> process26/err
mkdir -p process27
mpirun -np 2 --map-by ppr:1:node REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process27/out 2> process27/err
mkdir -p process28
mpirun -np 8 --map-by ppr:4:node REPOSITORY/src/peers/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process28/out 2> process28/err
mkdir -p process29
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process29/record.json --asked-by CHECK --bodies 262144,1048576 --memory device > process29/out 2> process29/err
