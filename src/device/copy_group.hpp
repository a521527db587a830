#pragma once

#include <cstdint>
#include <vector>

#include "device/copy_sampler.hpp"

namespace linkmatrix {

/// Cells that are sampled concurrently.
struct CopySampler::Group {
  std::vector<std::size_t> cells;  ///< indices into CopySampler::cells_
  std::vector<Sampled*> answers;   ///< result of each cell
  std::vector<Copy> copies;        ///< copies of all cells
  std::vector<std::size_t> owner;  ///< for each copy: index of its cell in `cells`
  std::uint64_t offset = 0;        ///< offset of all copies in their buffers
  Portion portion{};               ///< portion of the data to compare after the next run
  std::uint64_t runs_compared = 0;

  /// Calls work(measured, indices) with the copies that are no background load and their indices in `copies`. Returns
  /// its result. In a CopiesFailed of `work`, replaces the indices by those in `copies`.
  template <class Work>
  auto with_measured(const Work& work) const {
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
