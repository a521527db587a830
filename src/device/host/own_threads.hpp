#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "device/host/proc_tasks.hpp"

namespace linkmatrix {

/// What the threads of this process did from look to look, those too that have ended in between.
class OwnThreads {
 public:
  struct Thread {
    std::vector<int> allowed;  ///< cores, in ascending order
    Turns lately;              ///< since the look before; since its beginning where that did not see it
    double ran = 0;            ///< since its beginning
  };
  /// Since the look before.
  struct Look {
    std::vector<Thread> threads;  ///< those that there are
    double ran = 0;               ///< seconds of all, also of those that have ended
  };

  /// Nothing where no thread says what it did.
  std::optional<Look> look(const std::filesystem::path& process);

  /// Seconds of all threads since the process began.
  double ran() const { return ran_; }

 private:
  std::map<unsigned, Turns> before_;
  double ended_ = 0;  ///< seconds of threads that have ended, as they were seen last
  double ran_ = 0;
};

}  // namespace linkmatrix
