#!/bin/bash
#PBS -N rfm_peer_osu_pa
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=0:7:0
#PBS -l select=2:mpiprocs=4:ncpus=4
#PBS -q gpuq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/peer_osu_pairs
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process1/out 2> process1/err
code=$?; echo $SECONDS > seconds; (exit $code)
