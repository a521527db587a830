#include "device/device_activity.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "core/clock.hpp"

namespace linkmatrix {
namespace {

constexpr std::array<const char*, 4> ways{"nvlink_out", "nvlink_in", "pcie_out", "pcie_in"};
constexpr double late = 0.01;  // of what the run moved since the last look, that a counter may lack

std::optional<double> at(const std::map<std::string, double>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

/// A driver tells a share once, some time after the work: one that comes while a counter is waited for is of it too.
void keep_greatest(std::optional<std::vector<DeviceUse::Share>>& kept,
                   const std::optional<std::vector<DeviceUse::Share>>& found) {
  if (!kept || !found) return;
  for (const DeviceUse::Share& one : *found) {
    const auto known = std::ranges::find(*kept, one.pid, &DeviceUse::Share::pid);
    if (known == kept->end()) {
      kept->push_back(one);
      continue;
    }
    known->sm = std::max(known->sm, one.sm);
    known->memory = std::max(known->memory, one.memory);
  }
}

}  // namespace

DeviceActivity::DeviceActivity(DeviceUseSource& source, std::vector<std::string> labels, std::vector<unsigned> own,
                               std::string own_name, Patience patience)
    : source_{source},
      labels_{std::move(labels)},
      own_{std::move(own)},
      own_name_{std::move(own_name)},
      patience_{patience},
      seen_(labels_.size()) {}

/// A driver outside of this process's namespace numbers it otherwise: then it is the only one of its name.
bool DeviceActivity::is_own(const DeviceUse::Process& process, const DeviceUse& use) const {
  const std::vector<DeviceUse::Process>& all = *use.processes;
  const auto is_known = [this](const DeviceUse::Process& one) {
    return std::ranges::find(own_, one.pid) != own_.end();
  };
  if (std::ranges::any_of(all, is_known)) return is_known(process);
  return process.name == own_name_ && std::ranges::count(all, own_name_, &DeviceUse::Process::name) == 1;
}

bool DeviceActivity::lists_this(const DeviceUse& use) const {
  return use.processes && std::ranges::any_of(*use.processes, [&](const auto& one) { return is_own(one, use); });
}

std::vector<DeviceUse::Process> DeviceActivity::others_on(const DeviceUse& use) const {
  std::vector<DeviceUse::Process> others;
  for (const DeviceUse::Process& process : use.processes.value_or(std::vector<DeviceUse::Process>{}))
    if (!is_own(process, use)) others.push_back(process);
  return others;
}

bool DeviceActivity::others_possible() const {
  return std::ranges::any_of(seen_,
                             [this](const Seen& one) { return !lists_this(one.use) || !others_on(one.use).empty(); });
}

bool DeviceActivity::others_listed() const {
  return std::ranges::any_of(seen_, [this](const Seen& one) { return !others_on(one.use).empty(); });
}

void DeviceActivity::refresh() {
  for (std::size_t d = 0; d < seen_.size(); ++d) seen_[d].use = source_.use_of(d);
}

/// Until each counter of what the run has moved has moved once more: it was refreshed after the last copy.
void DeviceActivity::await_refresh(const TrafficLedger& ledger) {
  std::vector<Seen> first = seen_;
  const auto began = Clock::now();
  const Deadline end = Deadline::in(patience_.most);
  const auto is_refreshed = [&](std::size_t d) {
    return std::ranges::all_of(ways, [&](const char* way) {
      const auto before = at(first[d].use.traffic, way), now = at(seen_[d].use.traffic, way);
      return !before || !now || *now != *before || ledger.bytes(labels_[d], way) == seen_[d].own_before[way];
    });
  };
  const auto all_refreshed = [&] {
    for (std::size_t d = 0; d < seen_.size(); ++d)
      if (!is_refreshed(d)) return false;
    return true;
  };
  while (!all_refreshed() && !end.passed()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(patience_.between));
    for (std::size_t d = 0; d < seen_.size(); ++d) {
      DeviceUse now = source_.use_of(d);
      seen_[d].use.traffic = std::move(now.traffic);
      keep_greatest(seen_[d].use.shares, now.shares);
    }
  }
  waited_ += seconds_since(began);
}

void DeviceActivity::add(Activity& activity, TrafficLedger& ledger) {
  const bool known = ledger.take_known(), is_first = !last_;
  refresh();
  const bool is_worth_it = others_listed() || (others_possible() && waited_ < patience_.unlisted);
  if (!is_first && is_worth_it) await_refresh(ledger);
  activity.seconds = steady_seconds();
  activity.shared = others_possible();
  const double seconds = is_first ? 0 : activity.seconds - *last_;
  for (std::size_t d = 0; d < seen_.size(); ++d) {
    if (is_first) seen_[d].at_first = seen_[d].use.traffic;
    add_traffic(activity, seen_[d], labels_[d], ledger, known);
    add_shares(activity, seen_[d], labels_[d], seconds);
    add_processes(activity, seen_[d], labels_[d]);
  }
  last_ = activity.seconds;
}

void DeviceActivity::add_traffic(Activity& activity, Seen& seen, const std::string& label, const TrafficLedger& ledger,
                                 bool known) {
  std::vector<std::string> silent;
  for (const char* way : ways) {
    const double own = ledger.bytes(label, way), moved = own - seen.own_before[way];
    auto counted = at(seen.use.traffic, way);
    const auto first = at(seen.at_first, way);
    if (!counted || !first) {
      counted.reset();
      silent.emplace_back(way);
    } else if (own - (*counted - *first) > late * moved) {
      counted.reset();
      activity.untold.push_back(label + ": its counter " + way + " had not counted all that was sent here");
    }
    activity.uses.push_back({label, way, counted, known ? std::optional(own) : std::nullopt});
    seen.own_before[way] = own;
  }
  for (const std::string& way : silent) activity.untold.push_back(label + ": the driver does not count " + way);
}

void DeviceActivity::add_shares(Activity& activity, Seen& seen, const std::string& label, double seconds) {
  if (!seen.use.shares || !seen.use.processes) {
    activity.untold.push_back(label + ": the driver does not say how much of it each process uses");
  } else {
    double sm = 0, memory = 0;
    for (const DeviceUse::Process& process : others_on(seen.use))
      for (const DeviceUse::Share& share : *seen.use.shares)
        if (share.pid == process.pid) sm += share.sm, memory += share.memory;
    seen.sm += std::min(1.0, sm) * seconds;
    seen.memory += std::min(1.0, memory) * seconds;
  }
  const bool told = seen.use.shares && seen.use.processes;
  activity.uses.push_back({label, "sm", told ? std::optional(seen.sm) : std::nullopt, 0.0});
  activity.uses.push_back({label, "memory", told ? std::optional(seen.memory) : std::nullopt, 0.0});
}

void DeviceActivity::add_processes(Activity& activity, const Seen& seen, const std::string& label) const {
  if (!seen.use.processes) {
    activity.untold.push_back(label + ": the driver does not say which processes use it");
    return;
  }
  if (!lists_this(seen.use))
    activity.untold.push_back(label + ": the driver does not list this process, so others may be missing too");
  for (const DeviceUse::Process& process : others_on(seen.use))
    activity.processes.push_back({.where = label,
                                  .pid = process.pid,
                                  .name = printable_name(process.name),
                                  .user = "",
                                  .bytes = process.bytes,
                                  .seconds = {},
                                  .on_device = true});
}

}  // namespace linkmatrix
