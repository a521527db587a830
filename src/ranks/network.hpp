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

/// Rows of a matrix that goes into the record whole; the cells of a larger one go into a file beside it.
constexpr std::size_t most_in_record = 1024;

/// What a matrix between ranks asks for.
struct NetworkCase : MessageCase {
  bool by_node = false;
};

/// All ranks of an MPI job, each an endpoint: rank 0 says what is done, the others do it until it ends them. Starts and
/// ends MPI.
class Network : public Machine {
 public:
  /// Throws BadInput, on rank 0, where ranks are of different builds or options, or one cannot take part.
  static std::unique_ptr<Network> start(const NetworkOptions& options);

  /// Labels of rows and columns: the ranks', or the nodes'.
  virtual std::vector<std::string> labels(bool by_node) const = 0;
  virtual std::string link_class(bool by_node, std::size_t row, std::size_t column) const = 0;
  virtual std::string transport(bool by_node, std::size_t row, std::size_t column) const = 0;
  virtual Memory memory() const = 0;

  /// To ask ranks what only their payloads understand; at the root.
  virtual Correspondence& correspondence() = 0;
  /// Who was lost since this was last asked.
  virtual std::vector<Lost> take_lost() = 0;

  /// The devices of all ranks as a back end, on the root; null where host memory is measured.
  virtual Backend* devices() = 0;
  /// How its ranks share their memory.
  virtual Transport sharing() const = 0;

  /// Why this MPI has no one-sided transfers here; nothing if it has. Asks all ranks, once.
  virtual std::optional<std::string> why_no_window() = 0;

  /// Whether a message of the case has the fault. Throws BadInput where it cannot be measured.
  virtual bool has(const NetworkCase& matrix_case, Concurrency concurrency, const SimulatedFault& fault) = 0;

  /// Measures into the record's last result, which has been shaped and described. Throws BadInput, TimedOut and
  /// DeviceError.
  virtual void measure(const NetworkCase& matrix_case, const MeasureOptions& how, Deadline deadline,
                       Guarded<Record>& record, const std::optional<SimulatedFault>& fault) = 0;
};

}  // namespace linkmatrix::ranks
