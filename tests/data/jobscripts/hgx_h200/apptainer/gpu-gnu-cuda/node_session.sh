#!/bin/bash
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl}
rm -rf process1; mkdir -p process1
apptainer exec -B"STAGE/node_session:STAGE/node_session" -B"STAGE/build_linkmatrix:STAGE/build_linkmatrix" -B"/scratch:/data" --nv --pwd STAGE/node_session --env 'A=b c' /shared/linkmatrix.sif STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --record process1/record.json --asked-by CHECK --backend cuda > process1/out 2> process1/err
rm -rf process2; mkdir -p process2
mpirun -np 8 --bind-to core apptainer exec -B"STAGE/node_session:STAGE/node_session" -B"STAGE/build_linkmatrix:STAGE/build_linkmatrix" -B"/scratch:/data" --nv --pwd STAGE/node_session --env 'A=b c' /shared/linkmatrix.sif STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --record process2/record.json --asked-by CHECK --backend mpi > process2/out 2> process2/err
code=$?; echo $SECONDS > seconds; (exit $code)
