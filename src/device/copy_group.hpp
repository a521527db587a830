#pragma once

#include <cstdint>
#include <vector>

#include "device/copy_sampler.hpp"

namespace linkmatrix {

/// Cells that are sampled concurrently, with their copies in one list.
struct CopySampler::Group {
  std::vector<std::size_t> cells;  ///< indices
  std::vector<Sampled*> answers;
  std::vector<Copy> copies;
  std::vector<std::size_t> owner;  ///< of each copy: which of `cells`
  std::uint64_t offset = 0;        ///< of all copies, where their buffers begin
  Portion portion{};               ///< that is compared after the next run
  std::uint64_t runs_compared = 0;

  /// Calls `work` with the measured copies and the number of each in the group. Failures get the group's numbers.
  template <class Work>
  auto of_measured(const Work& work) const {
    std::vector<Copy> measured;
    std::vector<std::size_t> numbers;
    for (std::size_t c = 0; c < copies.size(); ++c)
      if (!copies[c].background) measured.push_back(copies[c]), numbers.push_back(c);
    try {
      return work(measured, numbers);
    } catch (const CopiesFailed& failure) {
      std::vector<CopiesFailed::Failure> failures = failure.failures();
      for (auto& one : failures) one.copy = numbers.at(one.copy);
      throw CopiesFailed(failure.what(), failures);
    }
  }
};

}  // namespace linkmatrix
