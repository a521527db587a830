#include "measure/sampler.hpp"

#include <algorithm>

namespace linkmatrix {

double value_of(Metric metric, const Sampled& sampled, const Sample& sample) {
  const double seconds = sample.whole.seconds();
  if (metric == Metric::latency) return seconds / sampled.transfers * 1e6;
  return sampled.bytes * sampled.transfers / seconds * 1e-9;
}

std::vector<double> values_of(Metric metric, const Sampled& sampled) {
  std::vector<double> values;
  values.reserve(sampled.samples.size());
  for (const Sample& sample : sampled.samples) values.push_back(value_of(metric, sampled, sample));
  return values;
}

double way_of(const Sampled& sampled, const Sample& sample, std::size_t way) {
  return sampled.bytes / 2 * sampled.transfers * sampled.way_share.at(way) / sample.ways.at(way).seconds() * 1e-9;
}

}  // namespace linkmatrix
