#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/guarded.hpp"
#include "core/record.hpp"

namespace linkmatrix {

/// A record as it was at one moment.
struct Snapshot {
  RecordHead head;
  std::vector<ResultText> results;
  std::optional<MatrixResult> last;  ///< of the results
  std::uint64_t version = 0;         ///< of the record, at least
};

/// Takes snapshots of a record that others change: under its lock only what is new is copied, and formatted outside of
/// it. Results that are finished, all but the last, are formatted once.
class RecordText {
 public:
  explicit RecordText(const Guarded<Record>& record) : record_{record} {}
  Snapshot take();

 private:
  const Guarded<Record>& record_;
  std::mutex mutex_;  ///< of what follows
  std::vector<ResultText> finished_;
};

}  // namespace linkmatrix
