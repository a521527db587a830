#!/bin/bash
#$ -N "rfm_process_p2p_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd /tmp/pytest-of-root/pytest-169/test_job_scripts_are_these_abc0/results0/stage/20261121T090014-963/abci/anode/gnu-anode/process_p2p_c78e871a
#$ -l h_rt=0:30:0
#$ -l rt_AF=1
#$ -S /bin/bash
mpirun -np 8 STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend ipc --record record.json --max-display 1024
