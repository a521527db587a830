#include "device/traffic_ledger.hpp"

namespace linkmatrix {
namespace {

/// "nvlink" where the copy goes over NVLink, else "pcie".
std::string path_of(const Backend& backend, const Copy& copy) {
  const auto source = static_cast<std::size_t>(copy.source), destination = static_cast<std::size_t>(copy.destination);
  const Matrix<std::string>& classes = backend.topology().link_class;
  const bool between_devices = source < classes.rows() && destination < classes.columns();
  const bool linked = between_devices && copy.peer_access && classes(source, destination).starts_with("NV");
  return linked ? "nvlink" : "pcie";
}

}  // namespace

void TrafficLedger::add(const Backend& backend, const Copy& copy, double transfers) {
  const bool hands_over = copy.operation == Operation::visibility;
  if ((copy.is_chain() && !hands_over) || copy.source == copy.destination) return;
  constexpr double handed_over = handover_words * sizeof(std::uint64_t);
  const double moved = (hands_over ? handed_over : static_cast<double>(copy.bytes)) * transfers;
  const std::string path = path_of(backend, copy);
  for (const auto& [end, way] : {std::pair{copy.source, "_out"}, {copy.destination, "_in"}}) {
    const Endpoint& endpoint = backend.endpoints().at(static_cast<std::size_t>(end));
    if (endpoint.kind == EndpointKind::device) bytes_[{endpoint.label, path + way}] += moved;
  }
}

void TrafficLedger::add(const Backend& backend, std::span<const Copy> copies, const Timeline& timeline) {
  for (std::size_t c = 0; c < copies.size(); ++c) add(backend, copies[c], timeline.copies.at(c).transfers);
}

void TrafficLedger::add_each_once(const Backend& backend, std::span<const Copy> copies) {
  for (const Copy& copy : copies) add(backend, copy, 1);
}

double TrafficLedger::bytes(const std::string& label, const std::string& of) const {
  const auto found = bytes_.find({label, of});
  return found == bytes_.end() ? 0 : found->second;
}

}  // namespace linkmatrix
