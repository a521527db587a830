#pragma once

#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// A payload without memory, for tests that transfer nothing.
class NoMemory : public Payload {
 public:
  void reserve(std::uint64_t) override {}
  StepTimes transfer(const Exchange&) override { return {}; }
  void fill(std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void poison(std::uint64_t, std::uint64_t, std::uint64_t) override {}
  PatternCheck compare(std::uint64_t, std::uint64_t, std::uint64_t) override { return {}; }
  void renew() override {}
};

}  // namespace linkmatrix::ranks
