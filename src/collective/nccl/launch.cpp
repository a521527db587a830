#include "collective/nccl/launch.hpp"

#include "collective/expected.hpp"
#include "collective/nccl/nccl_calls.hpp"

namespace linkmatrix::nccl {

void begin(const CollectiveCase& wanted, const Layout& layout, const RankBuffers& rank, ncclComm_t comm,
           cudaStream_t stream) {
  const ncclDataType_t type = *type_of(wanted.type);
  const ncclRedOp_t op = operation_of(wanted.reduction);
  const auto& [number, all, from, to] = rank;
  const std::size_t count = layout.sent, part = layout.part;
  const int root = wanted.root;
  const auto place = [&](int peer) { return place_of_part(layout, peer) * bytes_of(wanted.type); };
  const auto send = [&](const std::byte* what, std::size_t elements, int peer) {
    check(ncclSend(what, elements, type, peer, comm, stream), "ncclSend");
  };
  const auto receive = [&](std::byte* where, std::size_t elements, int peer) {
    check(ncclRecv(where, elements, type, peer, comm, stream), "ncclRecv");
  };
  switch (wanted.what) {
    case Collective::all_reduce:
      return check(ncclAllReduce(from, to, count, type, op, comm, stream), "ncclAllReduce");
    case Collective::all_gather:
      return check(ncclAllGather(from, to, part, type, comm, stream), "ncclAllGather");
    case Collective::reduce_scatter:
      return check(ncclReduceScatter(from, to, part, type, op, comm, stream), "ncclReduceScatter");
    case Collective::broadcast:
      return check(ncclBroadcast(from, to, count, type, root, comm, stream), "ncclBroadcast");
    case Collective::reduce:
      return check(ncclReduce(from, to, count, type, op, root, comm, stream), "ncclReduce");
    case Collective::alltoall:
      for (int peer = 0; peer < all; ++peer) {
        send(from + place(peer), part, peer);
        receive(to + place(peer), part, peer);
      }
      return;
    case Collective::gather:
      send(from, part, root);
      for (int peer = 0; number == root && peer < all; ++peer) receive(to + place(peer), part, peer);
      return;
    case Collective::scatter:
      for (int peer = 0; number == root && peer < all; ++peer) send(from + place(peer), part, peer);
      return receive(to, part, root);
    case Collective::sendrecv:
      send(from, count, (number + 1) % all);
      return receive(to, count, (number + all - 1) % all);
    case Collective::send:
      if (number == wanted.source) send(from, count, wanted.destination);
      if (number == wanted.destination) receive(to, count, wanted.source);
      return;
  }
}

}  // namespace linkmatrix::nccl
