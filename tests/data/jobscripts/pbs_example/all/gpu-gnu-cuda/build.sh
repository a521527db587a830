#!/bin/bash

_onerror()
{
    exitcode=$?
    echo "-reframe: command \`$BASH_COMMAND' failed (exit code: $exitcode)"
    exit $exitcode
}

trap _onerror ERR

trap 'exit 0' ERR
rm -f built
exec 9> OBJECTS.lock
flock --timeout 1800 9 || { echo 'build_linkmatrix: OBJECTS has been locked by another session for half an hour' >&2; false; }
mkdir -p OBJECTS
if [ ! -e OBJECTS/CMakeCache.txt ] || [ "$(cat OBJECTS/configured-by 2> /dev/null)" != 'cmake -DCMAKE_C_COMPILER="gcc" -DCMAKE_CXX_COMPILER="g++" -DCMAKE_Fortran_COMPILER="ftn" -DCMAKE_CUDA_COMPILER="nvcc" -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=18 -DLINKMATRIX_CUDA=ON -DLINKMATRIX_MPI=ON -DLINKMATRIX_NCCL=OFF -DCMAKE_CUDA_ARCHITECTURES=90 -S REPOSITORY/src -B OBJECTS' ]; then
rm -f OBJECTS/configured-by
cmake -DCMAKE_C_COMPILER="gcc" -DCMAKE_CXX_COMPILER="g++" -DCMAKE_Fortran_COMPILER="ftn" -DCMAKE_CUDA_COMPILER="nvcc" -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=18 -DLINKMATRIX_CUDA=ON -DLINKMATRIX_MPI=ON -DLINKMATRIX_NCCL=OFF -DCMAKE_CUDA_ARCHITECTURES=90 -S REPOSITORY/src -B OBJECTS || { rm -rf OBJECTS/CMakeCache.txt OBJECTS/CMakeFiles/[0-9]*; false; }
echo 'cmake -DCMAKE_C_COMPILER="gcc" -DCMAKE_CXX_COMPILER="g++" -DCMAKE_Fortran_COMPILER="ftn" -DCMAKE_CUDA_COMPILER="nvcc" -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=18 -DLINKMATRIX_CUDA=ON -DLINKMATRIX_MPI=ON -DLINKMATRIX_NCCL=OFF -DCMAKE_CUDA_ARCHITECTURES=90 -S REPOSITORY/src -B OBJECTS' > OBJECTS/configured-by
fi
cmake --build OBJECTS -j CORES -- p2p_matrix collective_perf nbody_scaling
cmake --install OBJECTS --prefix prefix --component p2p_matrix
cmake --install OBJECTS --prefix prefix --component collective_perf
cmake --install OBJECTS --prefix prefix --component nbody_scaling
PATH=$PWD/prefix/bin:$PATH command -v nvbandwidth p2pBandwidthLatencyTest all_reduce_perf sendrecv_perf ib_write_bw ib_write_lat osu_bw osu_bibw osu_latency osu_mbw_mr osu_multi_lat > peers || :
touch built
