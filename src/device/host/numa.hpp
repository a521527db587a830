#pragma once

#include <sched.h>

#include <array>
#include <string>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix {

/// Parses "0-3,8,10-11". Throws std::invalid_argument for other texts.
std::vector<int> parse_cpu_list(const std::string& text);

/// Returns a text such as "0-3,8".
std::string cpu_list_text(const std::vector<int>& cores);

/// A NUMA node and its cores that this process may use.
struct NumaNode {
  int id = 0;
  std::vector<int> cores;
};

/// Returns the nodes with at least one allowed core; one node with all cores if the kernel reports none.
std::vector<NumaNode> numa_nodes();

/// A set of cores, larger than cpu_set_t, because a kernel with more than 1,024 cores rejects a cpu_set_t.
struct CoreSet {
  static constexpr int most = 8192;
  std::array<cpu_set_t, most / CPU_SETSIZE> words{};

  std::vector<int> cores() const;
};

/// Returns the cores that this thread may use; empty if unknown.
CoreSet allowed_set();

/// Returns the memory of each NUMA node as an endpoint, "numa0" ….
std::vector<Endpoint> host_memory_endpoints(const std::vector<NumaNode>& nodes = numa_nodes());

/// Binds this thread to cores. Does nothing for an empty list, or if the system refuses.
void pin_thread(const std::vector<int>& cores);

/// Binds this thread to the cores of a NUMA node during the lifetime of the object, so that first accesses place memory
/// on this node.
class NumaPin {
 public:
  explicit NumaPin(int node);
  ~NumaPin();
  NumaPin(const NumaPin&) = delete;
  NumaPin& operator=(const NumaPin&) = delete;

 private:
  CoreSet before_;
};

}  // namespace linkmatrix
