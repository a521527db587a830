#include "device/lost_endpoints.hpp"

#include <algorithm>
#include <set>

#include "core/units.hpp"

namespace linkmatrix {

bool LostEndpoints::add(int endpoint, CellStatus status, const std::string& why, LossKind kind) {
  return lost_.try_emplace(endpoint, Loss{status, why, kind}).second;
}

bool LostEndpoints::has(int endpoint) const { return lost_.contains(endpoint) || backend_.lost(endpoint); }

std::optional<int> LostEndpoints::lost_endpoint(std::span<const Copy> cell) const {
  std::optional<int> lost;
  bool is_left = false;
  for (const Copy& copy : cell) {
    if (copy.background) continue;
    if (!has(copy)) is_left = true;
    for (const int end : {copy.source, copy.destination})
      if (has(end)) lost = end;
  }
  return is_left ? std::nullopt : lost;
}

std::string LostEndpoints::partial_text(std::span<const Copy> cell) const {
  std::set<int> without, with;
  for (const Copy& copy : cell)
    for (const int end : {copy.source, copy.destination})
      if (!copy.background) (has(end) ? without : with).insert(end);
  if (without.empty()) return {};
  const auto labels = [this](const std::set<int>& ends) {
    std::vector<std::string> names;
    for (const int end : ends) names.push_back(label(end));
    return join(names);
  };
  return "the total covers only " + labels(with) + ": " + labels(without) + " took no part";
}

CellStatus LostEndpoints::status(int endpoint) const {
  const auto known = lost_.find(endpoint);
  return known == lost_.end() ? CellStatus::error : known->second.status;
}

std::string LostEndpoints::why(int endpoint) const {
  if (const auto why = backend_.lost(endpoint)) return *why;
  return lost_.at(endpoint).why;
}

LossKind LostEndpoints::kind(int endpoint) const {
  return backend_.lost(endpoint) ? backend_.lost_kind(endpoint) : lost_.at(endpoint).kind;
}

std::vector<Lost> LostEndpoints::take() {
  std::vector<Lost> lost;
  for (int end = 0; end < static_cast<int>(backend_.endpoints().size()); ++end) {
    if (!has(end) || std::find(taken_.begin(), taken_.end(), end) != taken_.end()) continue;
    taken_.push_back(end);
    lost.push_back({label(end), why(end), kind(end)});
  }
  return lost;
}

std::string LostEndpoints::label(int endpoint) const {
  return backend_.endpoints().at(static_cast<std::size_t>(endpoint)).label;
}

}  // namespace linkmatrix
