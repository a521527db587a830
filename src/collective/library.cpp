#include "collective/library.hpp"

#include "core/error.hpp"
#include "program/launcher.hpp"
#ifdef LINKMATRIX_MPI
#include "collective/rank_collectives.hpp"
#endif
#ifdef LINKMATRIX_NCCL
#include "collective/nccl/device_collectives.hpp"
#include "device/cuda/cuda_backend.hpp"
#endif

namespace linkmatrix {

bool started_ranks() { return started_by_mpirun(); }

std::unique_ptr<Collectives> choose_collectives([[maybe_unused]] const CollectiveOptions& options) {
#ifdef LINKMATRIX_MPI
  if (started_ranks()) return make_rank_collectives(options);
#else
  if (started_ranks()) throw BadInput("this collective_perf was built without MPI: configure with -DLINKMATRIX_MPI=ON");
#endif
#ifdef LINKMATRIX_NCCL
  if (const std::string why = why_no_cuda(); !why.empty())
    throw BadInput("no GPU to measure (" + why + "): mpirun -n 4 collective_perf measures host memory");
  return make_device_collectives(options);
#else
  throw BadInput(
      "this collective_perf was built without NCCL (-DLINKMATRIX_CUDA=ON -DLINKMATRIX_NCCL=ON): "
      "mpirun -n 4 collective_perf measures host memory");
#endif
}

}  // namespace linkmatrix
