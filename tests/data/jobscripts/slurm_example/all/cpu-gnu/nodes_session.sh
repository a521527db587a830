#!/bin/bash
#SBATCH --job-name="rfm_nodes_session_HASH"
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=1:37:0
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --nodes=2
#SBATCH --partition=cpu
#SBATCH --no-requeue
export SLURM_KILL_BAD_EXIT=1
export SLURM_WAIT=50
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 > process1/out 2> process1/err
rm -rf process2; mkdir -p process2
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --asked-by CHECK --backend mpi > process3/out 2> process3/err
rm -rf process4; mkdir -p process4
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process4/record.json --asked-by CHECK --backend mpi > process4/out 2> process4/err
rm -rf process5; mkdir -p process5
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process5/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:4 > process5/out 2> process5/err
rm -rf process6; mkdir -p process6
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process6/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process6/out 2> process6/err
rm -rf process7; mkdir -p process7
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process7/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:4 > process7/out 2> process7/err
rm -rf process8; mkdir -p process8
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process8/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process8/out 2> process8/err
rm -rf process9; mkdir -p process9
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process9/record.json --asked-by CHECK --sweep 1KiB:16MiB:4 > process9/out 2> process9/err
rm -rf process10; mkdir -p process10
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process10/out 2> process10/err
rm -rf process11; mkdir -p process11
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process11/out 2> process11/err
rm -rf process12; mkdir -p process12
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process12/out 2> process12/err
code=$?; echo $SECONDS > seconds; (exit $code)
