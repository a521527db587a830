#!/bin/bash
#SBATCH --job-name="rfm_node_session_HASH"
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=2
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=1:0:0
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --nodes=1
#SBATCH --partition=cpu
#SBATCH --no-requeue
export SLURM_KILL_BAD_EXIT=1
export SLURM_WAIT=50
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --timeout 780 --record process1/record.json --asked-by CHECK --backend host > process1/out 2> process1/err
rm -rf process2; mkdir -p process2/ranks
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/binding.sh --into process2/ranks STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process3/record.json --asked-by CHECK --size 4KiB,4MiB > process3/out 2> process3/err
rm -rf process4; mkdir -p process4
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process4/out 2> process4/err
rm -rf process5; mkdir -p process5
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process5/out 2> process5/err
rm -rf process6; mkdir -p process6
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process6/out 2> process6/err
rm -rf process7; mkdir -p process7
srun --cpu-bind=cores STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process7/record.json --asked-by CHECK --bodies 2048,8192 > process7/out 2> process7/err
code=$?; echo $SECONDS > seconds; (exit $code)
