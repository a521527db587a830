#!/bin/bash

_onerror()
{
    exitcode=$?
    echo "-reframe: command \`$BASH_COMMAND' failed (exit code: $exitcode)"
    exit $exitcode
}

trap _onerror ERR

exec 9> OBJECTS.lock
flock --timeout 1800 9
mkdir -p OBJECTS
cmake -DCMAKE_C_COMPILER="gcc" -DCMAKE_CXX_COMPILER="g++" -DCMAKE_Fortran_COMPILER="ftn" -DCMAKE_CUDA_COMPILER="nvcc" -DCMAKE_BUILD_TYPE=Release -DLINKMATRIX_CUDA=ON -DLINKMATRIX_MPI=ON -DCMAKE_CUDA_ARCHITECTURES=90 -S REPOSITORY/src -B OBJECTS
cmake --build OBJECTS -j CORES
cmake --install OBJECTS --prefix prefix
