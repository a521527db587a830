#!/bin/bash
#SBATCH --job-name="rfm_nodes_session_HASH"
#SBATCH --ntasks=16
#SBATCH --ntasks-per-node=8
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=3:47:0
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --nodes=2
#SBATCH --partition=gpu
#SBATCH --no-requeue
#SBATCH --gpus-per-node=8
export SLURM_KILL_BAD_EXIT=1
export SLURM_WAIT=50
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process1/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 > process1/out 2> process1/err
rm -rf process2; mkdir -p process2
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process3/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 8 --timeout 300 > process3/out 2> process3/err
rm -rf process4; mkdir -p process4
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process4/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 > process4/out 2> process4/err
rm -rf process5; mkdir -p process5
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process5/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 > process5/out 2> process5/err
rm -rf process6; mkdir -p process6
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process6/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 8 --timeout 300 > process6/out 2> process6/err
rm -rf process7; mkdir -p process7
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process7/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 --memory device > process7/out 2> process7/err
rm -rf process8; mkdir -p process8
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process8/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 1 --timeout 300 --transport staged --memory device > process8/out 2> process8/err
rm -rf process9; mkdir -p process9
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process9/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 --memory device > process9/out 2> process9/err
rm -rf process10; mkdir -p process10
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process10/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 4 --timeout 300 --transport staged --memory device > process10/out 2> process10/err
rm -rf process11; mkdir -p process11
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process11/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 8 --timeout 300 --memory device > process11/out 2> process11/err
rm -rf process12; mkdir -p process12
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process12/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:2 --pairs-per-node 8 --timeout 300 --transport staged --memory device > process12/out 2> process12/err
rm -rf process13; mkdir -p process13
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process13/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 --memory device > process13/out 2> process13/err
rm -rf process14; mkdir -p process14
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process14/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 1 --timeout 300 --transport staged --memory device > process14/out 2> process14/err
rm -rf process15; mkdir -p process15
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process15/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 --memory device > process15/out 2> process15/err
rm -rf process16; mkdir -p process16
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process16/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 4 --timeout 300 --transport staged --memory device > process16/out 2> process16/err
rm -rf process17; mkdir -p process17
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process17/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 8 --timeout 300 --memory device > process17/out 2> process17/err
rm -rf process18; mkdir -p process18
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process18/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:2 --pairs-per-node 8 --timeout 300 --transport staged --memory device > process18/out 2> process18/err
rm -rf process19; mkdir -p process19
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process19/record.json --asked-by CHECK --backend mpi > process19/out 2> process19/err
rm -rf process20; mkdir -p process20
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process20/record.json --asked-by CHECK --backend mpi > process20/out 2> process20/err
rm -rf process21; mkdir -p process21
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process21/record.json --asked-by CHECK --backend mpi --memory device > process21/out 2> process21/err
rm -rf process22; mkdir -p process22
srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process22/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:4 > process22/out 2> process22/err
rm -rf process23; mkdir -p process23
srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process23/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process23/out 2> process23/err
rm -rf process24; mkdir -p process24
srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process24/record.json --asked-by CHECK --backend mpi --sweep 1:4MiB:4 > process24/out 2> process24/err
rm -rf process25; mkdir -p process25
srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process25/record.json --asked-by CHECK --backend mpi --sweep 0:4MiB:4 > process25/out 2> process25/err
rm -rf process26; mkdir -p process26
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process26/record.json --asked-by CHECK --sweep 1KiB:16MiB:4 > process26/out 2> process26/err
rm -rf process27; mkdir -p process27
srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process27/out 2> process27/err
rm -rf process28; mkdir -p process28
srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process28/out 2> process28/err
rm -rf process29; mkdir -p process29
srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process29/out 2> process29/err
rm -rf process30; mkdir -p process30
srun --nodes=2 --ntasks=8 --ntasks-per-node=4 --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process30/out 2> process30/err
rm -rf process31; mkdir -p process31
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process31/out 2> process31/err
rm -rf process32; mkdir -p process32
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process32/record.json --asked-by CHECK --bodies 262144,1048576 --memory device > process32/out 2> process32/err
rm -rf process33; mkdir -p process33
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process33/record.json --asked-by CHECK --bodies 65536 --memory device > process33/out 2> process33/err
rm -rf process34; mkdir -p process34
srun --cpu-bind=cores --gpu-bind=none STAGE/build_linkmatrix/prefix/bin/nbody_scaling --testcase TESTCASE --record process34/record.json --asked-by CHECK --bodies 65536,262144 --memory device > process34/out 2> process34/err
code=$?; echo $SECONDS > seconds; (exit $code)
