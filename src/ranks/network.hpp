#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/guarded.hpp"
#include "core/machine.hpp"
#include "core/result.hpp"
#include "device/backend.hpp"
#include "measure/engine.hpp"
#include "measure/sampler.hpp"
#include "measure/simulated_fault.hpp"
#include "ranks/messages.hpp"
#include "ranks/options.hpp"
#include "ranks/ranks.hpp"

namespace linkmatrix::ranks {

/// Maximum number of rows of a matrix that is stored in the record. Cells of a larger matrix are in a separate file.
constexpr std::size_t most_in_record = 1024;

/// Messages and type of a matrix between ranks.
struct NetworkCase : MessageCase {
  bool by_node = false;
};

/// All ranks of an MPI job, each an endpoint. Rank 0 sends orders, and the others execute them until rank 0 ends them.
/// Initializes and finalizes MPI.
class Network : public Machine {
 public:
  /// Starts MPI. On rank 0, throws BadInput if ranks have different builds or options, or if a rank cannot take part.
  static std::unique_ptr<Network> start(const NetworkOptions& options);

  /// Returns the labels of rows and columns: ranks or nodes.
  virtual std::vector<std::string> labels(bool by_node) const = 0;
  virtual std::string link_class(bool by_node, std::size_t row, std::size_t column) const = 0;
  virtual std::string transport(bool by_node, std::size_t row, std::size_t column) const = 0;
  virtual Memory memory() const = 0;

  /// Returns the access to the ranks' payloads. Only at the root.
  virtual Correspondence& correspondence() = 0;
  /// Returns the endpoints lost since the last call.
  virtual std::vector<Lost> take_lost() = 0;

  /// Returns the devices of all ranks as a back end, at the root; null for host memory.
  virtual Backend* devices() = 0;
  /// Returns how ranks share device memory.
  virtual Transport sharing() const = 0;

  /// Returns why MPI has no one-sided transfers here; nothing if it has. Asks all ranks once.
  virtual std::optional<std::string> why_no_window() = 0;

  /// Returns whether a message of the case has the fault. Throws BadInput if the case cannot be measured.
  virtual bool has(const NetworkCase& matrix_case, Concurrency concurrency, const SimulatedFault& fault) = 0;

  /// Measures into the record's last result, whose description must be complete. Throws BadInput, TimedOut and
  /// DeviceError.
  virtual void measure(const NetworkCase& matrix_case, const MeasureOptions& how, Deadline deadline,
                       Guarded<Record>& record, const std::optional<SimulatedFault>& fault) = 0;
};

}  // namespace linkmatrix::ranks
