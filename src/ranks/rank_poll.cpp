#include "ranks/rank_poll.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <utility>

#include "device/host/numa.hpp"
#include "ranks/introduction.hpp"
#include "ranks/replies.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double least_used_seconds = 0.05;  // minimum processor time of a reported process
constexpr std::size_t most_processes = 16;   // reported processes per node

/// Returns the processor time of this process in seconds.
double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The cores that this process may use; empty if the list is too long for a record.
std::string cores_text() {
  constexpr std::size_t most = 4096;
  std::string text = cpu_list_text(allowed_set().cores());
  return text.size() > most ? "" : text;
}

}  // namespace

Activity RankPoll::now(Payload& payload) {
  Activity poll;
  if (DeviceWatch* const device = payload.device())
    device->poll(poll, this_rank);
  else
    poll.uses.push_back({this_rank, "cpu", std::nullopt, cpu_seconds(), "", 0, cores_text()});
  if (gpus_) add_gpus(poll);
  for (OtherProcess& process : poll.processes)
    if (!process.name.empty()) process.user = processors_.user_of(process.pid);
  if (ranks_.number == 0) add_node(poll);
  return poll;
}

/// Polls unused GPUs. Omits ranks of this run, because MPI may have created contexts for them.
void RankPoll::add_gpus(Activity& poll) {
  Activity gpus;
  gpus_(gpus, this_node);
  std::erase_if(gpus.processes, [this](const OtherProcess& process) {
    return std::ranges::find(ranks_.pids, process.pid) != ranks_.pids.end();
  });
  std::ranges::move(gpus.processes, std::back_inserter(poll.processes));
  std::ranges::move(gpus.untold, std::back_inserter(poll.untold));
}

/// Adds the node's processes, except those that were idle since the previous poll, because there may be thousands of
/// nodes.
void RankPoll::add_node(Activity& poll) {
  Activity node;
  processors_.add_node(node, this_node);
  std::vector<OtherProcess> busy;
  std::map<unsigned, double> now;
  for (OtherProcess& process : node.processes) {
    const double used = process.seconds.value_or(0);
    now.emplace(process.pid, used);
    double before = used;  // at the first poll, the time is not known to be recent
    if (before_) {
      const auto known =
          before_->find(process.pid);  // less processor time than before: another process with the same number
      before = known == before_->end() || known->second > used ? 0 : known->second;
    }
    process.lately = used - before;
    if (*process.lately >= least_used_seconds) busy.push_back(std::move(process));
  }
  before_ = std::move(now);
  std::ranges::stable_sort(busy, std::ranges::greater{}, [](const OtherProcess& one) { return *one.lately; });
  busy.resize(std::min(busy.size(), most_processes));
  std::ranges::move(busy, std::back_inserter(poll.processes));
  std::ranges::move(node.nodes, std::back_inserter(poll.nodes));
  std::ranges::move(node.untold, std::back_inserter(poll.untold));
}

DriverPids::DriverPids(std::span<const RankFacts> ranks) {
  for (const RankFacts& rank : ranks) {
    const std::string system = text_of(rank.boot.front() != 0 ? rank.boot : rank.node);
    system_of_[label_of(rank)] = system;
    if (rank.driver_pid != 0) pids_of_[system].insert(rank.driver_pid);
  }
}

void DriverPids::remove_ranks(Activity& poll) const {
  std::erase_if(poll.processes, [this](const OtherProcess& process) {
    const auto system = process.is_on_device() ? system_of_.find(process.where) : system_of_.end();
    const auto pids = system == system_of_.end() ? pids_of_.end() : pids_of_.find(system->second);
    return pids != pids_of_.end() && pids->second.contains(process.pid);
  });
}

void add_poll(Activity& all, Activity poll, const std::string& rank, const std::string& node) {
  const std::string gpu_of_node = std::string(this_node) + ":";
  const auto name = [&](std::string& label) {
    if (label == this_node || label.starts_with(gpu_of_node))
      label.replace(0, std::string_view(this_node).size(), node);
    else
      label = rank;
  };
  if (poll.shared) all.shared = *poll.shared || all.shared.value_or(false);
  for (Use& use : poll.uses) name(use.label), all.uses.push_back(std::move(use));
  for (NodeLoad& load : poll.nodes) name(load.node), all.nodes.push_back(std::move(load));
  for (OtherProcess& process : poll.processes) name(process.where), all.processes.push_back(std::move(process));
  for (const std::string& sentence : poll.untold) {  // "rank: …"
    const auto colon = std::min(sentence.find(':'), sentence.size());
    std::string label = sentence.substr(0, colon);
    name(label);
    all.untold.push_back(label + sentence.substr(colon));
  }
}

}  // namespace linkmatrix::ranks
