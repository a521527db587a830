#!/bin/bash
#$ -N "rfm_node_session_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/node_session
#$ -l h_rt=1:0:0
#$ -pe mpi 2
#$ -q all.q
#$ -S /bin/bash
#$ -V
#$ -r n
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 780 --record process1/record.json --asked-by CHECK --backend host > process1/out 2> process1/err
rm -rf process2; mkdir -p process2/ranks
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/binding.sh --into process2/ranks STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process3/record.json --asked-by CHECK --size 4KiB,4MiB > process3/out 2> process3/err
rm -rf process4; mkdir -p process4
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process4/out 2> process4/err
rm -rf process5; mkdir -p process5
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process5/out 2> process5/err
rm -rf process6; mkdir -p process6
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process6/out 2> process6/err
rm -rf process7; mkdir -p process7
mpirun -np 2 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process7/record.json --asked-by CHECK --bodies 2048,8192 > process7/out 2> process7/err
code=$?; echo $SECONDS > seconds; (exit $code)
