#pragma once

/// The few declarations of nvml.h that several sources use: the header is not everywhere where the compiler is.
namespace linkmatrix::cuda::nvml {

using Device = void*;
union Value {
  double real;
  unsigned whole;
  unsigned long long large;
};
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int value_type, status;
  Value value;
};
using FieldValues = int(Device, int, FieldValue*);
using AskNumber = int(Device, unsigned*);

constexpr int success = 0;
constexpr unsigned most_links = 36;

}  // namespace linkmatrix::cuda::nvml
