#$ -N "rfm_build_build_linkmatrix_HASH"
#$ -o rfm_build.out
#$ -e rfm_build.err
#$ -wd STAGE/build_linkmatrix
#$ -l h_rt=0:30:0
#$ -l rt_AF=1
#$ -S /bin/bash
#$ -r n
