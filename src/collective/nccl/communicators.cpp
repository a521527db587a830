#include "collective/nccl/communicators.hpp"

#include <cstdlib>
#include <cstring>
#include <optional>

#include "collective/nccl/nccl_calls.hpp"
#include "core/limited_call.hpp"
#include "device/cuda/handles.hpp"

namespace linkmatrix::nccl {
namespace {

/// Sets the environment variable NCCL_ALGO for the lifetime of the object. An empty value changes nothing.
class AlgorithmVariable {
 public:
  explicit AlgorithmVariable(const std::string& value) : is_set_{!value.empty()} {
    if (!is_set_) return;
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~AlgorithmVariable() {
    if (is_set_) before_ ? setenv(name, before_->c_str(), 1) : unsetenv(name);
  }
  AlgorithmVariable(const AlgorithmVariable&) = delete;
  AlgorithmVariable& operator=(const AlgorithmVariable&) = delete;

 private:
  static constexpr const char* name = "NCCL_ALGO";
  bool is_set_;
  std::optional<std::string> before_;
};

/// Returns the time limit in seconds for the creation of a communicator. It grows with the number of ranks. NCCL itself
/// waits for a lost rank forever.
constexpr double finding_each_other = 120;

}  // namespace

Communicators::Communicators(const NcclRanks& ranks, const NcclId& id) : first_{ranks.first} {
  ncclUniqueId unique{};
  static_assert(sizeof(unique) == sizeof(id));
  std::memcpy(&unique, id.data(), sizeof(unique));
  std::vector<ncclComm_t>& base = made_[{}];
  base.resize(ranks.ordinals.size());
  const LimitedCall limited(finding_each_other, "NCCL");
  check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t i = 0; i < base.size(); ++i) {
    cuda::use(ranks.ordinals[i], ranks.labels[i]);
    check(ncclCommInitRank(&base[i], ranks.ranks, unique, first_ + static_cast<int>(i)), "ncclCommInitRank");
  }
  check(ncclGroupEnd(), "ncclCommInitRank");
}

/// NCCL reads the algorithm when a communicator is created. A communicator that is split off shares everything else
/// with the first.
const std::vector<ncclComm_t>& Communicators::get(const CollectiveCase& wanted) {
  const Forced forced{wanted.algorithm.data(), wanted.excluded};
  if (const auto known = made_.find(forced); known != made_.end()) return known->second;
  const std::vector<ncclComm_t>& base = made_.at({});
  const AlgorithmVariable variable(forced.algorithm);
  std::vector<ncclComm_t> made(base.size());
  check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t i = 0; i < base.size(); ++i) {
    const int rank = first_ + static_cast<int>(i);
    const int color = forced.excluded.has(rank) ? NCCL_SPLIT_NOCOLOR : 0;
    check(ncclCommSplit(base[i], color, rank, &made[i], nullptr), "ncclCommSplit");
  }
  check(ncclGroupEnd(), "ncclCommSplit");
  return made_[forced] = std::move(made);
}

}  // namespace linkmatrix::nccl
