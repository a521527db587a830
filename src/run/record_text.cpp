#include "run/record_text.hpp"

namespace linkmatrix {

Snapshot RecordText::take() {
  Snapshot now;
  {
    const std::lock_guard lock(mutex_);
    now.results = finished_;
  }
  now.version = record_.version();
  const auto fresh = record_.look([&now](const Record& record) {
    now.head = record;
    const auto known = static_cast<std::ptrdiff_t>(now.results.size());
    return std::vector<MatrixResult>(record.results.begin() + known, record.results.end());
  });
  for (const MatrixResult& result : fresh) now.results.push_back(std::make_shared<const std::string>(to_json(result)));
  if (fresh.empty()) return now;
  now.last = fresh.back();
  const std::lock_guard lock(mutex_);
  if (now.results.size() > finished_.size() + 1) finished_.assign(now.results.begin(), now.results.end() - 1);
  return now;
}

}  // namespace linkmatrix
