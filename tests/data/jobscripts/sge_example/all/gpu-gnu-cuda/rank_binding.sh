#!/bin/bash
#$ -N "rfm_rank_binding"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd /tmp/pytest-of-root/pytest-169/test_job_scripts_are_these_sge0/results0/stage/20261121T090122-3208/sge-example/gpu/gnu-cuda/rank_binding
#$ -l h_rt=0:5:0
#$ -l gpu=8
mpirun -np 8 ./binding.sh
