#include "nbody/positions_gather.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint64_t bytes_of_unit = 256 * 16;  // one tile; MPI counts at most 2147483647 units

}  // namespace

void PositionsGather::prepare(int ranks) {
  if (const auto known = made_.find(ranks); known != made_.end()) {
    now_ = known->second;
    return;
  }
  MPI_Group all = MPI_GROUP_NULL, first = MPI_GROUP_NULL;
  int range[1][3] = {{0, ranks - 1, 1}};
  ranks::check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &all), rank(), "MPI_Comm_group");
  ranks::check_mpi(MPI_Group_range_incl(all, 1, range, &first), rank(), "MPI_Group_range_incl");
  ranks::check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, first, ranks, &now_), rank(), "MPI_Comm_create_group");
  MPI_Group_free(&first);
  MPI_Group_free(&all);
  made_[ranks] = now_;
}

void PositionsGather::meet(Deadline deadline) {
  MPI_Request request = MPI_REQUEST_NULL;
  ranks::check_mpi(MPI_Ibarrier(now_, &request), rank(), "MPI_Ibarrier");
  mpi_.wait_for_all(request, "not all ranks reached the step in time", deadline);
}

void PositionsGather::gather(void* memory, std::uint64_t bytes, Deadline deadline) {
  MPI_Datatype unit = MPI_DATATYPE_NULL;
  ranks::check_mpi(MPI_Type_contiguous(static_cast<int>(bytes_of_unit), MPI_BYTE, &unit), rank(),
                   "MPI_Type_contiguous");
  ranks::check_mpi(MPI_Type_commit(&unit), rank(), "MPI_Type_commit");
  MPI_Request request = MPI_REQUEST_NULL;
  const int units = static_cast<int>(bytes / bytes_of_unit);
  const int status = MPI_Iallgather(MPI_IN_PLACE, 0, unit, memory, units, unit, now_, &request);
  MPI_Type_free(&unit);  // MPI frees it after pending transfers
  ranks::check_mpi(status, rank(), "MPI_Iallgather");
  mpi_.wait_for_all(request, "not all positions arrived in time", deadline);
}

}  // namespace linkmatrix
