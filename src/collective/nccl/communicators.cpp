#include "collective/nccl/communicators.hpp"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "collective/nccl/nccl_calls.hpp"
#include "core/limited_call.hpp"
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

/// Seconds in which ranks find each other, more than a collective has: of thousands it takes long. For one that is gone
/// NCCL waits without an end.
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

/// NCCL reads algorithm and protocol when a communicator is made; one that is split off shares all else with the first.
/// Of channels it reads the environment once in a process, for the first communicator: a later one has them of its
/// configuration.
const std::vector<ncclComm_t>& Communicators::of(const CollectiveCase& wanted) {
  const Forced forced = forced_by(wanted);
  if (const auto known = made_.find(forced); known != made_.end()) return known->second;
  const std::vector<ncclComm_t>& base = made_.at({});
  const Environment environment(forced.environment);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (forced.channels > 0) config.minCTAs = config.maxCTAs = forced.channels;
  ncclConfig_t* const own = forced.channels > 0 ? &config : nullptr;  // else that of the first
  std::vector<ncclComm_t> made(base.size());
  check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t i = 0; i < base.size(); ++i) {
    const int rank = first_ + static_cast<int>(i);
    const int color = forced.left_out.has(rank) ? NCCL_SPLIT_NOCOLOR : 0;
    check(ncclCommSplit(base[i], color, rank, &made[i], own), "ncclCommSplit");
  }
  check(ncclGroupEnd(), "ncclCommSplit");
  return made_[forced] = std::move(made);
}

Communicators::Forced Communicators::forced_by(const CollectiveCase& wanted) {
  Forced forced;
  if (wanted.algorithm[0] != 0) forced.environment["NCCL_ALGO"] = wanted.algorithm.data();
  if (wanted.protocol[0] != 0) forced.environment["NCCL_PROTO"] = wanted.protocol.data();
  forced.channels = wanted.channels;
  forced.left_out = wanted.left_out;
  return forced;
}

}  // namespace linkmatrix::nccl
