#!/bin/bash
#SBATCH --job-name="rfm_node_session_HASH"
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=8
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:14:0
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --nodes=1
#SBATCH --partition=gpu
#SBATCH --no-requeue
#SBATCH --gpus-per-node=8
export SLURM_KILL_BAD_EXIT=1
export SLURM_WAIT=50
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpu-bind=none '--container-image=registry#linkmatrix:0.2' --container-mounts=STAGE/node_session:STAGE/node_session,STAGE/build_linkmatrix:STAGE/build_linkmatrix,/scratch:/scratch --container-workdir=STAGE/node_session --no-container-mount-home STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process1/record.json --asked-by CHECK --backend cuda > process1/out 2> process1/err
rm -rf process2; mkdir -p process2
srun --cpu-bind=cores --gpu-bind=none '--container-image=registry#linkmatrix:0.2' --container-mounts=STAGE/node_session:STAGE/node_session,STAGE/build_linkmatrix:STAGE/build_linkmatrix,/scratch:/scratch --container-workdir=STAGE/node_session --no-container-mount-home STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi > process2/out 2> process2/err
code=$?; echo $SECONDS > seconds; (exit $code)
