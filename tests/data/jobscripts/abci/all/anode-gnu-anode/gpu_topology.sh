#!/bin/bash
#$ -N "rfm_gpu_topology"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd STAGE/gpu_topology
#$ -l h_rt=0:5:0
#$ -l rt_AF=1
#$ -S /bin/bash
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --backend cuda --record record.json --max-display 1024
