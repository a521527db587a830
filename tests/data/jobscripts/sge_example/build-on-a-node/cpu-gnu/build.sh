#$ -N "rfm_build_build_linkmatrix_HASH"
#$ -o rfm_build.out
#$ -e rfm_build.err
#$ -wd STAGE/build_linkmatrix
#$ -l h_rt=0:30:0
#$ -pe mpi 1
#$ -q all.q
#$ -S /bin/bash
#$ -V
#$ -r n
