#pragma once

// Declarations of nvml.h that several sources use. The header itself is not installed with every compiler.
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
