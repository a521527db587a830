#PBS -N rfm_build_build
#PBS -o rfm_build.out
#PBS -e rfm_build.err
#PBS -l walltime=0:30:0
#PBS -l select=1:mpiprocs=1:ncpus=1
#PBS -q workq
#PBS -l place=scatter:excl
#PBS -r n
#PBS -V
cd STAGE/build_linkmatrix
