#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "nbody/simulation.hpp"

namespace linkmatrix {

/// A simulation with the precision of the last prepared case. prepare() first releases the previous simulation.
class EitherPrecision final : public Simulation {
 public:
  using Make = std::function<std::unique_ptr<Simulation>(Precision)>;

  explicit EitherPrecision(Make make) : make_{std::move(make)} {}

  void prepare(const NbodyCase& wanted, Deadline deadline) override {
    now_ = nullptr;
    now_ = make_(wanted.precision);
    now_->prepare(wanted, deadline);
  }
  void restart(Deadline deadline) override { now_->restart(deadline); }
  double run(int steps, const Step& step, Deadline deadline) override { return now_->run(steps, step, deadline); }
  std::vector<int> parts() const override { return now_->parts(); }
  std::vector<Vector4<double>> positions(int part) override { return now_->positions(part); }
  std::vector<Vector4<double>> velocities(int part) override { return now_->velocities(part); }

 private:
  Make make_;
  std::unique_ptr<Simulation> now_;
};

/// Converts positions or velocities to double precision.
template <class T>
std::vector<Vector4<double>> as_double(const Vector4<T>* from, std::uint64_t count) {
  std::vector<Vector4<double>> out;
  out.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) out.push_back({from[i].x, from[i].y, from[i].z, from[i].w});
  return out;
}

/// Sets the initial positions of a part. Slots after its last body get no mass. positions: all parts, as in Split.
template <class T>
void put_first_positions(const Split& split, int part, Vector4<T>* positions) {
  const std::uint64_t first = split.first(part), count = split.count(part);
  Vector4<T>* const to = positions + split.place_of(part);
  for (std::uint64_t i = 0; i < split.stride(); ++i)
    to[i] = i < count ? first_position<T>(first + i, split.bodies()) : Vector4<T>{};
}

}  // namespace linkmatrix
