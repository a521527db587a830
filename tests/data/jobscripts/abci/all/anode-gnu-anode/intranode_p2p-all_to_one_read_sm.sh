#!/bin/bash
#$ -N "rfm_intranode_p2p_HASH"
#$ -o rfm_job.out
#$ -e rfm_job.err
#$ -wd /tmp/pytest-of-root/pytest-169/test_job_scripts_are_these_abc0/results0/stage/20261121T090014-963/abci/anode/gnu-anode/intranode_p2p_291df141
#$ -l h_rt=0:30:0
#$ -l rt_AF=1
#$ -S /bin/bash
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend cuda --record record.json --max-display 1024
