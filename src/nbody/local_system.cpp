#include "nbody/local_system.hpp"

#include <utility>

#include "core/error.hpp"
#include "device/host/node_facts.hpp"
#include "nbody/check.hpp"

namespace linkmatrix {
namespace {

class LocalSystem final : public NbodySystem {
 public:
  explicit LocalSystem(LocalParts parts) : parts_{std::move(parts)} {
    const auto& endpoints = parts_.machine->endpoints();
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      if (endpoints[i].kind != EndpointKind::device) continue;
      if (const auto why = parts_.machine->lost(static_cast<int>(i)))
        throw DeviceError(endpoints[i].label + ": " + *why);
      labels_.push_back(endpoints[i].label);
    }
  }

  Machine& machine() override { return *parts_.machine; }
  std::vector<NodeFacts> nodes() override { return {node_facts()}; }
  std::vector<std::string> devices() const override { return labels_; }
  Memory memory() const override { return parts_.memory; }
  std::string transport() const override { return parts_.transport(); }
  std::string timing() const override { return parts_.timing; }
  std::vector<std::uint64_t> default_bodies() const override { return parts_.default_bodies; }

  NbodyAnswer prepare(const NbodyCase& wanted, double seconds) override {
    prepared_ = wanted;
    return guarded([&](NbodyAnswer&) { parts_.simulation->prepare(wanted, Deadline::in(seconds)); });
  }
  NbodyAnswer run(int steps, double seconds) override {
    return guarded(
        [&](NbodyAnswer& answer) { answer.seconds = parts_.simulation->run(steps, {}, Deadline::in(seconds)); });
  }
  NbodyAnswer find(Proof what, double interactions, double seconds, Findings& found) override {
    return guarded([&](NbodyAnswer&) {
      find_in(*parts_.simulation, prepared_, what, interactions, Deadline::in(seconds), found);
    });
  }

  std::optional<CellStatus> lost_as(int) const override { return lost_as_; }
  std::vector<Lost> take_lost() override { return std::exchange(lost_, {}); }

 private:
  /// What a device still does that failed, or did not end, nobody knows: it begins nothing else.
  NbodyAnswer guarded(const std::function<void(NbodyAnswer&)>& work) {
    NbodyAnswer answer = answer_of(work);
    const bool is_late = answer.status == CellStatus::timeout && parts_.memory == Memory::host;  // threads have left
    if (answer.status == CellStatus::ok || is_late || lost_as_) return answer;
    lost_as_ = answer.status;
    for (int d = 0; d < prepared_.devices; ++d) lost_.push_back({labels_[static_cast<std::size_t>(d)], answer.why});
    return answer;
  }

  LocalParts parts_;
  std::vector<std::string> labels_;
  NbodyCase prepared_;
  std::vector<Lost> lost_;
  std::optional<CellStatus> lost_as_;
};

}  // namespace

std::unique_ptr<NbodySystem> make_local_system(LocalParts parts) {
  return std::make_unique<LocalSystem>(std::move(parts));
}

NbodyAnswer answer_of(const std::function<void(NbodyAnswer&)>& work) {
  NbodyAnswer answer;
  try {
    work(answer);
  } catch (const TimedOut& e) {
    answer = {CellStatus::timeout, e.what(), 0};
  } catch (const DeviceError& e) {
    answer = {CellStatus::error, e.what(), 0};
  }
  return answer;
}

void find_in(Simulation& simulation, const NbodyCase& prepared, Proof what, double interactions, Deadline deadline,
             Findings& found) {
  found = what == Proof::drift ? check_drift(simulation, prepared, drift_steps, deadline)
                               : check_steps(simulation, prepared, interactions, deadline);
}

}  // namespace linkmatrix
