#include <deque>
#include <string>
#include <vector>

#include "p2p/testcases.hpp"

namespace linkmatrix {
namespace {

using enum Pattern;
using enum Metric;
using enum Operation;
using enum Engine;
using enum Direction;
using enum Load;

/// Two test cases, one by copy engines (_ce) and one by kernels (_sm).
struct ByEngine {
  std::string_view name;  ///< name without the engine
  std::string_view by_copy_engines, by_kernels;
  Pattern pattern;
  Metric metric = bandwidth;
  Direction direction;
  Load load = none;
  std::string_view suffix = "";
};

/// The 35 test cases of nvbandwidth 0.8 for one node: copies by both engines, then test cases of one engine.
constexpr ByEngine copies[]{
    {.name = "host_to_device_memcpy",
     .by_copy_engines = "host memory to each device by its copy engine",
     .by_kernels = "host memory to each device, copied by a kernel on the device",
     .pattern = host_to_device,
     .direction = read},
    {.name = "device_to_host_memcpy",
     .by_copy_engines = "each device to host memory by its copy engine",
     .by_kernels = "each device to host memory, copied by a kernel on the device",
     .pattern = device_to_host,
     .direction = write},
    {.name = "host_to_device_bidirectional_memcpy",
     .by_copy_engines = "host memory to each device, bidirectional, sum; copy engines",
     .by_kernels = "host memory to each device, bidirectional, sum; copied by kernels on the device",
     .pattern = host_to_device,
     .metric = bidirectional,
     .direction = read},
    {.name = "device_to_host_bidirectional_memcpy",
     .by_copy_engines = "each device to host memory, bidirectional, sum; copy engines",
     .by_kernels = "each device to host memory, bidirectional, sum; copied by kernels on the device",
     .pattern = device_to_host,
     .metric = bidirectional,
     .direction = write},
    {.name = "device_to_device_memcpy_read",
     .by_copy_engines = "each pair; the destination's copy engine pulls",
     .by_kernels = "each pair; a kernel on the destination pulls",
     .pattern = pairs,
     .direction = read},
    {.name = "device_to_device_memcpy_write",
     .by_copy_engines = "each pair; the source's copy engine pushes",
     .by_kernels = "each pair; a kernel on the source pushes",
     .pattern = pairs,
     .direction = write},
    {.name = "device_to_device_bidirectional_memcpy_read",
     .by_copy_engines = "each pair, bidirectional, sum; copy engines pull",
     .by_kernels = "each pair, bidirectional, sum; kernels pull",
     .pattern = pairs,
     .metric = bidirectional,
     .direction = read},
    {.name = "device_to_device_bidirectional_memcpy_write",
     .by_copy_engines = "each pair, bidirectional, sum; copy engines push",
     .by_kernels = "each pair, bidirectional, sum; kernels push",
     .pattern = pairs,
     .metric = bidirectional,
     .direction = write},
    {.name = "all_to_host_memcpy",
     .by_copy_engines = "each device to host memory while all other devices do the same; copy engines",
     .by_kernels = "each device to host memory while all other devices do the same; kernels",
     .pattern = device_to_host,
     .direction = write,
     .load = others},
    {.name = "all_to_host_bidirectional_memcpy",
     .by_copy_engines =
         "each device to host memory, bidirectional, sum, while all other devices do the same; copy engines",
     .by_kernels = "each device to host memory, bidirectional, sum, while all other devices do the same; kernels",
     .pattern = device_to_host,
     .metric = bidirectional,
     .direction = write,
     .load = others},
    {.name = "host_to_all_memcpy",
     .by_copy_engines = "host memory to each device while all other devices do the same; copy engines",
     .by_kernels = "host memory to each device while all other devices do the same; kernels",
     .pattern = host_to_device,
     .direction = read,
     .load = others},
    {.name = "host_to_all_bidirectional_memcpy",
     .by_copy_engines =
         "host memory to each device, bidirectional, sum, while all other devices do the same; copy engines",
     .by_kernels = "host memory to each device, bidirectional, sum, while all other devices do the same; kernels",
     .pattern = host_to_device,
     .metric = bidirectional,
     .direction = read,
     .load = others},
    {.name = "all_to_one_write",
     .by_copy_engines = "into each device from all other devices concurrently, total; their copy engines push",
     .by_kernels = "into each device from all other devices concurrently, total; kernels on them push",
     .pattern = inbound,
     .direction = write},
    {.name = "all_to_one_read",
     .by_copy_engines = "out of each device to all other devices concurrently, total; their copy engines pull",
     .by_kernels = "out of each device to all other devices concurrently, total; kernels on them pull",
     .pattern = outbound,
     .direction = read},
    {.name = "one_to_all_write",
     .by_copy_engines = "out of each device to all other devices concurrently, total; its copy engines push",
     .by_kernels = "out of each device to all other devices concurrently, total; kernels on this device push",
     .pattern = outbound,
     .direction = write},
    {.name = "one_to_all_read",
     .by_copy_engines = "into each device from all other devices concurrently, total; its copy engines pull",
     .by_kernels = "into each device from all other devices concurrently, total; kernels on this device pull",
     .pattern = inbound,
     .direction = read},
};

constexpr TestCase by_one_engine[]{
    {.name = "host_device_latency_sm",
     .description = "load latency: the device chases pointers in host memory",
     .pattern = host_to_device,
     .metric = latency,
     .operation = chase,
     .engine = sm,
     .direction = read},
    {.name = "device_to_device_latency_sm",
     .description = "load latency: the destination chases pointers in the source's memory",
     .pattern = pairs,
     .metric = latency,
     .operation = chase,
     .engine = sm,
     .direction = read},
    {.name = "device_local_copy",
     .description = "inside each device by its copy engine; each byte counts once",
     .pattern = local,
     .engine = ce,
     .direction = write},
};

/// Further test cases: small copies.
constexpr ByEngine small_copies[]{
    {.name = "device_to_device_copy_latency_read",
     .by_copy_engines = "copy latency of 16 bytes, pulled by the copy engine; and the time to enqueue it",
     .by_kernels = "copy latency of 16 bytes, pulled by a kernel; and the time to enqueue it",
     .pattern = pairs,
     .metric = latency,
     .direction = read},
    {.name = "device_to_device_copy_latency_write",
     .by_copy_engines = "copy latency of 16 bytes, pushed by the copy engine; and the time to enqueue it",
     .by_kernels = "copy latency of 16 bytes, pushed by a kernel; and the time to enqueue it",
     .pattern = pairs,
     .metric = latency,
     .direction = write},
};

/// Single accesses.
constexpr TestCase accesses[]{
    {.name = "device_to_device_atomic_latency_sm",
     .description = "atomic latency: additions by the destination in the source's memory, one after the other",
     .pattern = pairs,
     .metric = latency,
     .operation = atomic,
     .engine = sm,
     .direction = read},
    {.name = "device_to_device_flag_latency_sm",
     .description = "round trip of an 8-byte flag between the memories of two devices",
     .pattern = pairs,
     .metric = latency,
     .operation = flag,
     .engine = sm,
     .direction = write},
};

/// Visibility tests.
constexpr TestCase handovers[]{
    {.name = "device_to_device_visibility_write_sm",
     .description =
         "visibility: the source writes data and a flag into the destination's memory; the destination checks both",
     .pattern = pairs,
     .metric = latency,
     .operation = visibility,
     .engine = sm,
     .direction = write},
    {.name = "device_to_device_visibility_read_sm",
     .description =
         "visibility: the source writes data and a flag into its own memory; the destination reads and checks both",
     .pattern = pairs,
     .metric = latency,
     .operation = visibility,
     .engine = sm,
     .direction = read},
    {.name = "device_to_host_visibility_write_sm",
     .description = "visibility: the device writes data and a flag into host memory; a host thread checks both",
     .pattern = device_to_host,
     .metric = latency,
     .operation = visibility,
     .engine = sm,
     .direction = write},
    {.name = "host_to_device_visibility_read_sm",
     .description =
         "visibility: a host thread writes data and a flag into host memory; the device reads and checks both",
     .pattern = host_to_device,
     .metric = latency,
     .operation = visibility,
     .engine = sm,
     .direction = read},
};

/// Copies without peer access.
constexpr TestCase without_peer_access[]{
    {.name = "device_to_device_memcpy_write_ce_peer_off",
     .description = "each pair without peer access: staged through host memory",
     .pattern = pairs,
     .engine = ce,
     .direction = write,
     .peer_access = false},
    {.name = "device_to_device_bidirectional_memcpy_write_ce_peer_off",
     .description = "each pair, bidirectional, sum; without peer access",
     .pattern = pairs,
     .metric = bidirectional,
     .engine = ce,
     .direction = write,
     .peer_access = false},
    {.name = "device_to_device_copy_latency_write_ce_peer_off",
     .description = "copy latency of 16 bytes without peer access; and the time to enqueue it",
     .pattern = pairs,
     .metric = latency,
     .engine = ce,
     .direction = write,
     .peer_access = false},
};

/// Stresses: every device sends and receives.
constexpr ByEngine under_stress[]{
    {.name = "device_to_device_memcpy_read",
     .by_copy_engines = "each pair while every device sends and receives; copy engines pull",
     .by_kernels = "each pair while every device sends and receives; kernels pull",
     .pattern = pairs,
     .direction = read,
     .load = everyone,
     .suffix = "_stress"},
    {.name = "device_to_device_memcpy_write",
     .by_copy_engines = "each pair while every device sends and receives; copy engines push",
     .by_kernels = "each pair while every device sends and receives; kernels push",
     .pattern = pairs,
     .direction = write,
     .load = everyone,
     .suffix = "_stress"},
};

/// A copy kernel with its own test cases. In the other test cases, --kernel selects the kernel.
struct KernelVariant {
  Kernel kernel;
  std::string_view copies, one_copy;  ///< texts for descriptions
};

constexpr KernelVariant kernel_variants[]{
    {Kernel::cached, "plain loads and stores", "plain loads and stores"},
    {Kernel::bulk, "bulk asynchronous copies", "a bulk copy"},
};

/// Returns whether a test case copies between pairs by kernels without load.
bool has_kernel_variants(const TestCase& t) {
  return t.pattern == pairs && t.engine == sm && t.operation == copy && t.load == none;
}

std::string description_of(const TestCase& t, const KernelVariant& variant) {
  const std::string verb = t.direction == read ? "pull" : "push";
  if (t.metric == latency)
    return "copy latency of 16 bytes, " + verb + "ed by " + std::string(variant.one_copy) +
           "; and the time to enqueue it";
  return std::string(t.metric == bidirectional ? "each pair, bidirectional, sum; " : "each pair; ") +
         std::string(variant.copies) + " " + verb;
}

class Table {
 public:
  Table() {
    add(copies);
    add(by_one_engine);
    of_nvbandwidth_ = rows_.size();
    add(small_copies);
    add(accesses);
    add(handovers);
    add_kernel_variants();
    add(without_peer_access);
    add(under_stress);
    add(rank_testcases());
  }

  std::span<const TestCase> rows() const { return rows_; }
  std::span<const TestCase> of_nvbandwidth() const { return rows().first(of_nvbandwidth_); }

 private:
  void add(std::span<const TestCase> rows) { rows_.insert(rows_.end(), rows.begin(), rows.end()); }

  /// Appends both test cases of each row.
  void add(std::span<const ByEngine> rows) {
    for (const Engine engine : {ce, sm})
      for (const ByEngine& row : rows)
        rows_.push_back(
            {.name = keep(std::string(row.name) + "_" + std::string(word(engine)) + std::string(row.suffix)),
             .description = engine == ce ? row.by_copy_engines : row.by_kernels,
             .pattern = row.pattern,
             .metric = row.metric,
             .engine = engine,
             .direction = row.direction,
             .load = row.load});
  }

  /// Appends the test cases of each kernel.
  void add_kernel_variants() {
    const std::vector<TestCase> plain = rows_;
    for (const KernelVariant& variant : kernel_variants)
      for (TestCase t : plain) {
        if (!has_kernel_variants(t)) continue;
        t.name = keep(std::string(t.name) + "_" + std::string(word(variant.kernel)));
        t.description = keep(description_of(t, variant));
        t.kernel = variant.kernel;
        rows_.push_back(t);
      }
  }

  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  std::vector<TestCase> rows_;
  std::size_t of_nvbandwidth_ = 0;  ///< number of test cases of nvbandwidth, which come first
  std::deque<std::string> texts_;   ///< texts of generated rows; a deque keeps their addresses
};

const Table& table() {
  static const Table made;
  return made;
}

}  // namespace

std::span<const TestCase> all_testcases() { return table().rows(); }

std::span<const TestCase> nvbandwidth_testcases() { return table().of_nvbandwidth(); }

}  // namespace linkmatrix
