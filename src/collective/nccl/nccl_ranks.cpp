#include "collective/nccl/nccl_ranks.hpp"

#include "collective/nccl_log.hpp"
#include "device/cuda/discovery.hpp"
#include "ranks/device/device_payload.hpp"
#include "ranks/device/nvml_watch.hpp"

namespace linkmatrix {

ranks::DeviceSupport nccl_rank_support(MakeNcclAnswerer make) {
  ranks::DeviceSupport support;
  support.make_payload = [make = std::move(make)](ranks::Communicator& mpi, int number, ranks::RankFacts& facts) {
    keep_nccl_log();
    const int ordinal = ranks::ordinal_of(number);
    const Endpoint device = cuda::describe_devices(std::array{ordinal}).front();
    ranks::put_device(facts, number, device);
    NcclRanks own{{ordinal}, {"gpu" + std::to_string(number)}, mpi.rank(), mpi.size()};
    return std::make_unique<ranks::HostPayload>(mpi, false, make(std::move(own)),
                                                std::make_unique<ranks::NvmlWatch>(device));
  };
  support.discover = ranks::device_support().discover;
  return support;
}

}  // namespace linkmatrix
