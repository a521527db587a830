#include "collective/nccl/communicators.hpp"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "collective/nccl/nccl_calls.hpp"
#include "device/cuda/handles.hpp"

namespace linkmatrix::nccl {
namespace {

/// Variables of the environment that have these values as long as this lives.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) {
      const char* const before = std::getenv(name.c_str());
      before_.emplace_back(name, before == nullptr ? std::nullopt : std::optional<std::string>(before));
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

}  // namespace

Communicators::Communicators(const NcclRanks& ranks, const NcclId& id) : first_{ranks.first} {
  ncclUniqueId unique{};
  static_assert(sizeof(unique) == sizeof(id));
  std::memcpy(&unique, id.data(), sizeof(unique));
  std::vector<ncclComm_t>& base = made_[{}];
  base.resize(ranks.ordinals.size());
  check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t i = 0; i < base.size(); ++i) {
    cuda::use(ranks.ordinals[i], ranks.labels[i]);
    check(ncclCommInitRank(&base[i], ranks.ranks, unique, first_ + static_cast<int>(i)), "ncclCommInitRank");
  }
  check(ncclGroupEnd(), "ncclCommInitRank");
}

/// NCCL reads what is forced when a communicator is made; one that is split off shares all else with the first.
const std::vector<ncclComm_t>& Communicators::of(const CollectiveCase& wanted) {
  const Forced forced = forced_by(wanted);
  if (const auto known = made_.find(forced); known != made_.end()) return known->second;
  const std::vector<ncclComm_t>& base = made_.at({});
  const Environment environment(forced);
  std::vector<ncclComm_t> made(base.size());
  check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t i = 0; i < base.size(); ++i)
    check(ncclCommSplit(base[i], 0, first_ + static_cast<int>(i), &made[i], nullptr), "ncclCommSplit");
  check(ncclGroupEnd(), "ncclCommSplit");
  return made_[forced] = std::move(made);
}

Communicators::Forced Communicators::forced_by(const CollectiveCase& wanted) {
  Forced forced;
  if (wanted.algorithm[0] != 0) forced["NCCL_ALGO"] = wanted.algorithm.data();
  if (wanted.protocol[0] != 0) forced["NCCL_PROTO"] = wanted.protocol.data();
  if (wanted.channels > 0) {
    forced["NCCL_MIN_NCHANNELS"] = std::to_string(wanted.channels);
    forced["NCCL_MAX_NCHANNELS"] = std::to_string(wanted.channels);
  }
  return forced;
}

}  // namespace linkmatrix::nccl
