#!/bin/bash
#$ -N "rfm_nodes_session_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/nodes_session
#$ -l h_rt=3:32:0
#$ -l rt_F=2
#$ -S /bin/bash
#$ -r n
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 > process1/out 2> process1/err
rm -rf process2; mkdir -p process2
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 > process3/out 2> process3/err
rm -rf process4; mkdir -p process4
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process4/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 > process4/out 2> process4/err
rm -rf process5; mkdir -p process5
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process5/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 --memory device > process5/out 2> process5/err
rm -rf process6; mkdir -p process6
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process6/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 --transport staged --memory device > process6/out 2> process6/err
rm -rf process7; mkdir -p process7
mpirun -np 8 --map-by ppr:4:node env 'UCX_TLS=^gdr_copy' STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process7/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 --transport mpi --memory device > process7/out 2> process7/err
rm -rf process8; mkdir -p process8
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process8/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 --memory device > process8/out 2> process8/err
rm -rf process9; mkdir -p process9
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process9/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 --transport staged --memory device > process9/out 2> process9/err
rm -rf process10; mkdir -p process10
mpirun -np 8 --map-by ppr:4:node env 'UCX_TLS=^gdr_copy' STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process10/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 --transport mpi --memory device > process10/out 2> process10/err
rm -rf process11; mkdir -p process11
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process11/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 --memory device > process11/out 2> process11/err
rm -rf process12; mkdir -p process12
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process12/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 --transport staged --memory device > process12/out 2> process12/err
rm -rf process13; mkdir -p process13
mpirun -np 8 --map-by ppr:4:node env 'UCX_TLS=^gdr_copy' STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process13/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 --transport mpi --memory device > process13/out 2> process13/err
rm -rf process14; mkdir -p process14
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process14/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 --memory device > process14/out 2> process14/err
rm -rf process15; mkdir -p process15
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process15/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 --transport staged --memory device > process15/out 2> process15/err
rm -rf process16; mkdir -p process16
mpirun -np 8 --map-by ppr:4:node env 'UCX_TLS=^gdr_copy' STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process16/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 --transport mpi --memory device > process16/out 2> process16/err
rm -rf process17; mkdir -p process17
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process17/record.json --asked-by CHECK --backend mpi > process17/out 2> process17/err
rm -rf process18; mkdir -p process18
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process18/record.json --asked-by CHECK --backend mpi > process18/out 2> process18/err
rm -rf process19; mkdir -p process19
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process19/record.json --asked-by CHECK --backend mpi --memory device > process19/out 2> process19/err
rm -rf process20; mkdir -p process20
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process20/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:4 > process20/out 2> process20/err
rm -rf process21; mkdir -p process21
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process21/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process21/out 2> process21/err
rm -rf process22; mkdir -p process22
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process22/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:4 > process22/out 2> process22/err
rm -rf process23; mkdir -p process23
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process23/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process23/out 2> process23/err
rm -rf process24; mkdir -p process24
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process24/record.json --asked-by CHECK --sweep 1KiB:16MiB:4 > process24/out 2> process24/err
rm -rf process25; mkdir -p process25
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process25/out 2> process25/err
rm -rf process26; mkdir -p process26
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process26/out 2> process26/err
rm -rf process27; mkdir -p process27
mpirun -np 2 --map-by ppr:1:node STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process27/out 2> process27/err
rm -rf process28; mkdir -p process28
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process28/out 2> process28/err
rm -rf process29; mkdir -p process29
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process29/record.json --asked-by CHECK --bodies 262144,1048576 --memory device > process29/out 2> process29/err
rm -rf process30; mkdir -p process30
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process30/record.json --asked-by CHECK --bodies 65536 --memory device > process30/out 2> process30/err
rm -rf process31; mkdir -p process31
mpirun -np 8 --map-by ppr:4:node STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process31/record.json --asked-by CHECK --bodies 65536,262144 --memory device > process31/out 2> process31/err
code=$?; echo $SECONDS > seconds; (exit $code)
