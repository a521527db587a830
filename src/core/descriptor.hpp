#pragma once

#include <unistd.h>

#include <utility>

namespace linkmatrix {

/// Owns a file descriptor and closes it on destruction. A negative number owns nothing.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_{number} {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Closes the descriptor. Returns the result of close(2), because some file systems report a full disk only there.
  int close() { return number_ < 0 ? 0 : ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

}  // namespace linkmatrix
