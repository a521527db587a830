#include "collective/nccl/nccl_calls.hpp"

#include <cstring>
#include <string>

#include "collective/expected.hpp"
#include "collective/nccl/nccl_worker.hpp"

namespace linkmatrix::nccl {
namespace {

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 3)
constexpr ncclDataType_t f8e4m3 = ncclFloat8e4m3, f8e5m2 = ncclFloat8e5m2;
#else
constexpr ncclDataType_t f8e4m3 = ncclNumTypes, f8e5m2 = ncclNumTypes;  // this NCCL lacks these types
#endif

constexpr std::array types{std::pair{ElementType::f32, ncclFloat32}, std::pair{ElementType::f64, ncclFloat64},
                           std::pair{ElementType::f16, ncclFloat16}, std::pair{ElementType::bf16, ncclBfloat16},
                           std::pair{ElementType::f8e4m3, f8e4m3},   std::pair{ElementType::f8e5m2, f8e5m2},
                           std::pair{ElementType::i8, ncclInt8},     std::pair{ElementType::u8, ncclUint8},
                           std::pair{ElementType::i32, ncclInt32},   std::pair{ElementType::u32, ncclUint32},
                           std::pair{ElementType::i64, ncclInt64},   std::pair{ElementType::u64, ncclUint64}};

constexpr std::array reductions{std::pair{Reduction::sum, ncclSum}, std::pair{Reduction::prod, ncclProd},
                                std::pair{Reduction::min, ncclMin}, std::pair{Reduction::max, ncclMax},
                                std::pair{Reduction::avg, ncclAvg}};

template <class Key, class Value, std::size_t n>
std::optional<Value> find(const std::array<std::pair<Key, Value>, n>& table, Key key) {
  for (const auto& [known, value] : table)
    if (known == key) return value;
  return std::nullopt;
}

}  // namespace

void check(ncclResult_t status, const char* call) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  std::string text = ncclGetLastError(nullptr);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.find("no algorithm/protocol available") != std::string::npos)
    throw NotAvailable(std::string(call) + ": this NCCL does not support the algorithm here");
  throw DeviceError(std::string(call) + " failed: " + ncclGetErrorString(status) + (text.empty() ? "" : ": " + text));
}

void check_state(ncclComm_t communicator) {
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(communicator, &state), "ncclCommGetAsyncError");
  check(state, "the collective");
}

std::optional<ncclDataType_t> type_of(ElementType type) {
  const auto found = find(types, type);
  return found == ncclNumTypes ? std::nullopt : found;
}

ncclRedOp_t operation_of(Reduction reduction) { return find(reductions, reduction).value_or(ncclSum); }

void begin(const CollectiveCase& wanted, const Layout& layout, const RankBuffers& rank, ncclComm_t comm,
           cudaStream_t stream) {
  const ncclDataType_t type = *type_of(wanted.type);
  const ncclRedOp_t op = operation_of(wanted.reduction);
  const auto& [number, all, from, to] = rank;
  const std::size_t count = layout.sent, part = layout.part;
  const int root = wanted.root;
  const auto place = [&](int peer) { return place_of_part(layout, peer) * bytes_of(wanted.type); };
  const auto send = [&](const std::byte* data, std::size_t elements, int peer) {
    check(ncclSend(data, elements, type, peer, comm, stream), "ncclSend");
  };
  const auto receive = [&](std::byte* where, std::size_t elements, int peer) {
    check(ncclRecv(where, elements, type, peer, comm, stream), "ncclRecv");
  };
  switch (wanted.collective) {
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

namespace linkmatrix {

NcclId new_nccl_id() {
  ncclUniqueId unique{};
  nccl::check(ncclGetUniqueId(&unique), "ncclGetUniqueId");
  NcclId id{};
  static_assert(sizeof(unique) == sizeof(id));
  std::memcpy(id.data(), &unique, sizeof(unique));
  return id;
}

std::optional<std::string> nccl_refusal(const CollectiveCase& wanted) {
  if (!nccl::type_of(wanted.type)) return "this NCCL has no type " + std::string(word(wanted.type));
  if (wanted.algorithm[0] != 0 && is_made_of_sends(wanted.collective))
    return std::string(word(wanted.collective)) + " consists of sends, and NCCL has no choice of algorithms for sends";
  return std::nullopt;
}

std::string nccl_version() {
  int version = 0;
  nccl::check(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace linkmatrix
