#include "ranks/payload.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace linkmatrix::ranks {

void HostPayload::reserve(std::uint64_t bytes) {
  reserve_here(source_, bytes, huge_);
  reserve_here(destination_, bytes, huge_);
}

void HostPayload::connect(const Exchange& x) {
  if (x.order.one_sided) transfers_.connect(x, destination_.data(), destination_.bytes());
}

StepTimes HostPayload::transfer(const Exchange& x) {
  return transfers_.transfer(x, source_.data() + x.order.offset, destination_.data() + x.order.offset);
}

void HostPayload::fill(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) {
  fill_pattern(source_.data() + offset, 0, bytes, seed);
}

void HostPayload::poison(std::uint64_t bytes, std::uint64_t offset, std::uint64_t most) {
  const std::uint64_t end = poisoned_at_ + poisoned_bytes_;
  poisoned_at_ = most < bytes && end < bytes ? end : 0;
  poisoned_bytes_ = std::min(most, bytes - poisoned_at_);
  std::memset(destination_.data() + offset + poisoned_at_, poison_byte, poisoned_bytes_);
}

PatternCheck HostPayload::compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) {
  if (std::exchange(expected_seed_, seed) != seed || expected_.bytes() < bytes) {
    reserve_here(expected_, bytes, huge_);
    fill_pattern(expected_.data(), 0, bytes, seed);
  }
  const std::byte* const found = destination_.data() + offset;
  if (std::memcmp(found + poisoned_at_, expected_.data() + poisoned_at_, poisoned_bytes_) == 0) return {};
  return check_pattern(found, poisoned_at_, poisoned_bytes_, seed);
}

void HostPayload::renew() {
  const std::uint64_t bytes = source_.bytes();
  given_up_.push_back(std::move(source_));
  given_up_.push_back(std::move(destination_));
  reserve(bytes);
}

}  // namespace linkmatrix::ranks
