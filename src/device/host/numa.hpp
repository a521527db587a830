#pragma once

#include <sched.h>

#include <array>
#include <string>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix {

/// The numbers of "0-3,8,10-11"; throws std::invalid_argument for anything else.
std::vector<int> parse_cpu_list(const std::string& text);

/// "0-3,8".
std::string cpu_list_text(const std::vector<int>& cores);

/// A NUMA node and those of its cores that this process may run on.
struct NumaNode {
  int id = 0;
  std::vector<int> cores;
};

/// The nodes with at least one allowed core; one node with all of them where the kernel does not say.
std::vector<NumaNode> numa_nodes();

/// Cores, as many as any kernel counts: one of more than 1,024 refuses a cpu_set_t.
struct CoreSet {
  static constexpr int most = 8192;
  std::array<cpu_set_t, most / CPU_SETSIZE> words{};

  std::vector<int> cores() const;
};

/// Those that the calling thread may use; none where the kernel does not say.
CoreSet allowed_set();

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
  CoreSet before_;
};

}  // namespace linkmatrix
