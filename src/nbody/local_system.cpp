#include "nbody/local_system.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "nbody/check.hpp"

namespace linkmatrix {
namespace {

class LocalSystem final : public NbodySystem {
 public:
  explicit LocalSystem(LocalParts parts) : parts_{std::move(parts)} {
    const auto& endpoints = parts_.machine->endpoints();
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      if (endpoints[i].kind != EndpointKind::device) continue;
      refuse_lost(*parts_.machine, static_cast<int>(i));
      labels_.push_back(endpoints[i].label);
    }
  }

  Machine& machine() override { return *parts_.machine; }
  std::vector<std::string> devices() const override { return labels_; }
  Memory memory() const override { return parts_.memory; }
  std::string transport() const override { return parts_.transport(); }
  std::string timing() const override { return parts_.timing; }

  NbodyAnswer prepare(const NbodyCase& wanted, double seconds) override {
    prepared_ = wanted;
    return guarded([&](NbodyAnswer&) { parts_.simulation->prepare(wanted, Deadline::in(seconds)); });
  }
  NbodyAnswer run(int steps, double seconds) override {
    return guarded(
        [&](NbodyAnswer& answer) { answer.seconds = parts_.simulation->run(steps, {}, Deadline::in(seconds)); });
  }
  NbodyAnswer verify_once(Proof wanted_proof, double interactions, double seconds, Findings& found) override {
    return guarded([&](NbodyAnswer&) {
      verify_parts(*parts_.simulation, prepared_, wanted_proof, interactions, Deadline::in(seconds), found);
    });
  }

  std::optional<CellStatus> lost_status(int devices) const override {
    return devices > first_lost_ ? lost_as_ : std::nullopt;
  }
  std::vector<Lost> take_lost() override { return std::exchange(lost_, {}); }

 private:
  /// Records lost devices. The devices after a lost device are lost too, because their simulations include it. If the
  /// failed device is unknown, or if threads still use the memory, all are lost.
  NbodyAnswer guarded(const std::function<void(NbodyAnswer&)>& work) {
    NbodyAnswer answer = answer_of(work);
    const bool is_late = answer.status == CellStatus::timeout && parts_.memory == Memory::host;  // threads have left
    if (answer.status == CellStatus::ok || is_late || lost_as_) return answer;
    lost_as_ = answer.status;
    const auto named =
        std::ranges::find_if(labels_, [&](const std::string& label) { return answer.why.starts_with(label + ":"); });
    const auto all = labels_.begin() + prepared_.devices;
    if (named >= all) {
      for (auto label = labels_.begin(); label != all; ++label) lost_.push_back({*label, answer.why});
      return answer;
    }
    lost_.push_back({*named, answer.why});
    if (answer.status == CellStatus::error) first_lost_ = static_cast<int>(named - labels_.begin());
    return answer;
  }

  LocalParts parts_;
  std::vector<std::string> labels_;
  NbodyCase prepared_;
  std::vector<Lost> lost_;
  std::optional<CellStatus> lost_as_;
  int first_lost_ = 0;  ///< index of the first lost device, if any is lost
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

void verify_parts(Simulation& simulation, const NbodyCase& prepared, Proof wanted_proof, double interactions,
                  Deadline deadline, Findings& found) {
  found = wanted_proof == Proof::drift ? check_drift(simulation, prepared, drift_steps, deadline)
                                       : check_steps(simulation, prepared, interactions, deadline);
}

}  // namespace linkmatrix
