#include "ranks/payload.hpp"

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

void HostPayload::spoil(std::uint64_t bytes, std::uint64_t offset) {
  std::memset(destination_.data() + offset, spoiled_byte, bytes);
}

PatternCheck HostPayload::compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) {
  return check_pattern(destination_.data() + offset, 0, bytes, seed);
}

void HostPayload::renew() {
  const std::uint64_t bytes = source_.bytes();
  given_up_.push_back(std::move(source_));
  given_up_.push_back(std::move(destination_));
  reserve(bytes);
}

}  // namespace linkmatrix::ranks
