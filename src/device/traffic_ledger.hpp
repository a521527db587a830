#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "device/backend.hpp"

namespace linkmatrix {

/// The bytes that this run moved itself, by endpoint and path, to be taken off what a device counts.
class TrafficLedger {
 public:
  /// What a run of copies moved, those that keep a path busy too.
  void add(const Backend& backend, std::span<const Copy> copies, const Timeline& timeline);

  /// Each of the copies once, as a verification makes them.
  void add_each_once(const Backend& backend, std::span<const Copy> copies);

  /// Makes `act` and adds what the copies moved then: as its timeline says, else each once. Where it throws, nobody
  /// knows what they moved.
  template <class Act>
  auto account(const Backend& backend, std::span<const Copy> copies, const Act& act) {
    try {
      auto done = act();
      if constexpr (std::is_same_v<decltype(done), Timeline>)
        add(backend, copies, done);
      else
        add_each_once(backend, copies);
      return done;
    } catch (...) {
      is_lost_ = true;
      throw;
    }
  }

  /// Something was moved that nobody counts.
  void lose() { is_lost_ = true; }

  /// Whether all that was moved since the last call is known.
  bool take_known() { return !std::exchange(is_lost_, false); }

  /// Of an endpoint, "nvlink_out", "nvlink_in", "pcie_out" or "pcie_in", since the beginning.
  double bytes(const std::string& label, const std::string& of) const;

 private:
  void add(const Backend& backend, const Copy& copy, double transfers);

  std::map<std::pair<std::string, std::string>, double> bytes_;
  bool is_lost_ = false;
};

}  // namespace linkmatrix
