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

/// Maximum number of rows of a matrix in the record. Cells of a larger matrix are in a separate file (CellFile).
constexpr std::size_t most_in_record = 1024;

/// A matrix between ranks, or between nodes.
struct NetworkCase : MessageCase {
  bool by_node = false;  ///< whether rows and columns are nodes
};

/// The machine of an MPI job: each rank is an endpoint. Rank 0 sends orders; the other ranks execute them in serve().
/// Initializes MPI, and finalizes it on destruction.
class Network : public Machine {
 public:
  /// Starts MPI. Collective. On rank 0, throws BadInput if ranks have different builds or options, or if a rank cannot
  /// take part.
  static std::unique_ptr<Network> start(const NetworkOptions& options);

  /// Returns the labels of rows and columns: ranks or nodes.
  virtual std::vector<std::string> labels(bool by_node) const = 0;
  virtual std::string link_class(bool by_node, std::size_t row, std::size_t column) const = 0;
  virtual std::string transport(bool by_node, std::size_t row, std::size_t column) const = 0;
  virtual Memory memory() const = 0;

  /// Returns the interface for questions to payloads. Only on rank 0.
  virtual Correspondence& correspondence() = 0;
  /// Returns the endpoints lost since the last call.
  virtual std::vector<Lost> take_lost() = 0;

  /// Returns the devices of all ranks as one back end; null for host memory. Only on rank 0.
  virtual Backend* devices() = 0;
  /// Returns the transport by which devices access each other's memory.
  virtual Transport sharing() const = 0;

  /// Returns why MPI has no one-sided transfers here; nothing if it has. The first call asks all ranks.
  virtual std::optional<std::string> why_no_window() = 0;

  /// Returns whether the fault changes a message of the case. Throws BadInput if the case cannot be measured.
  virtual bool is_affected_by(const NetworkCase& matrix_case, Concurrency concurrency, const SimulatedFault& fault) = 0;

  /// Measures a case. The caller has described it in the record's last result. Throws BadInput, TimedOut and
  /// DeviceError.
  virtual void measure(const NetworkCase& matrix_case, const MeasureOptions& how, Deadline deadline,
                       Guarded<Record>& record, const std::optional<SimulatedFault>& fault) = 0;
};

}  // namespace linkmatrix::ranks
