#!/bin/bash
#$ -N "rfm_peer_osu_pairs_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/peer_osu_pairs
#$ -l h_rt=0:7:0
#$ -pe mpi 8
#$ -q gpu.q
#$ -S /bin/bash
#$ -V
#$ -r n
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
mpirun -np 8 --map-by numa --bind-to core STAGE/build_linkmatrix/prefix/bin/peer.sh --beside STAGE/build_linkmatrix/prefix/bin --timeout 300 OSU -c -m 1:4194304 > process1/out 2> process1/err
code=$?; echo $SECONDS > seconds; (exit $code)
