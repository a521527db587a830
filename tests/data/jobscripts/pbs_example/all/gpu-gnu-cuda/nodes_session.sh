#!/bin/bash
#PBS -N rfm_nodes_sessi
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:52:0
#PBS -l select=2:mpiprocs=8:ncpus=8:ngpus=8
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/nodes_session
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
mkdir -p process1
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --max-display 1024 --asked-by CHECK --backend mpi > process1/out 2> process1/err
mkdir -p process2
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --max-display 1024 --asked-by CHECK --backend mpi > process2/out 2> process2/err
mkdir -p process3
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --max-display 1024 --asked-by CHECK --backend mpi --memory device > process3/out 2> process3/err
mkdir -p process4
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process4/record.json --max-display 1024 --asked-by CHECK --sweep 1KiB:16MiB:4 > process4/out 2> process4/err
mkdir -p process5
mpirun -np 16 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process5/record.json --max-display 1024 --asked-by CHECK --bodies 262144,1048576 --memory device > process5/out 2> process5/err
