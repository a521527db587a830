#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix {

/// A NUMA node and those of its cores that this process may run on.
struct NumaNode {
  int id = 0;
  std::vector<int> cores;
};

/// The nodes with at least one allowed core; one node with all of them where the kernel does not say.
std::vector<NumaNode> numa_nodes();

/// The numbers of "0-3,8,10-11"; throws std::invalid_argument for anything else.
std::vector<int> parse_cpu_list(const std::string& text);

/// "0-3,8".
std::string cpu_list_text(const std::vector<int>& cores);

/// The memory of each NUMA node as an endpoint, "numa0" ….
std::vector<Endpoint> host_memory_endpoints(const std::vector<NumaNode>& nodes = numa_nodes());

/// Binds the calling thread to cores; does nothing for an empty list or where the system refuses.
void pin_thread(const std::vector<int>& cores);

/// Binds the calling thread to a NUMA node's cores for as long as it lives: memory first touched meanwhile lies there.
class NumaPin {
 public:
  explicit NumaPin(int node);
  ~NumaPin();
  NumaPin(const NumaPin&) = delete;
  NumaPin& operator=(const NumaPin&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace linkmatrix
