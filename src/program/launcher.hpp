#pragma once

namespace linkmatrix {

/// Whether this process is one of several that mpirun, or another launcher of MPI, started. By what launchers leave in
/// the environment, so that a program without MPI knows it too.
bool started_by_mpirun();

/// This process's number among them; 0 where no launcher says.
int launched_rank();

/// How many there are; 1 where no launcher says.
int launched_ranks();

}  // namespace linkmatrix
