#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/measure.hpp"
#include "core/result.hpp"
#include "core/topology.hpp"
#include "device/machine.hpp"
#include "ranks/options.hpp"

namespace linkmatrix::ranks {

/// Rows of a matrix that goes into the record whole; the cells of a larger one go into a file beside it.
constexpr std::size_t most_in_record = 1024;

/// What a matrix between ranks asks for.
struct NetworkCase {
  Metric metric = Metric::bandwidth;
  bool by_node = false;
  bool one_sided = false;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

/// All ranks of an MPI job, each an endpoint: rank 0 conducts, the others play until it ends them. Starts and ends MPI.
class Network : public Machine {
 public:
  /// Throws BadInput, on rank 0, where ranks are of different builds or options, or one cannot take part.
  static std::unique_ptr<Network> start(const NetworkOptions& options);

  /// Of every rank but the root: plays until the conductor ends it.
  virtual void serve() = 0;

  /// Labels of rows and columns: the ranks', or the nodes'.
  virtual std::vector<std::string> labels(bool by_node) const = 0;
  virtual std::string link_class(bool by_node, std::size_t row, std::size_t column) const = 0;
  virtual std::string transport(bool by_node, std::size_t row, std::size_t column) const = 0;
  virtual Memory memory() const = 0;

  /// Shapes and measures; `result` has been described. Throws BadInput, TimedOut and DeviceError.
  virtual void measure(const NetworkCase& what, const MeasureOptions& how, Deadline deadline, MatrixResult& result) = 0;

  /// Ends the other ranks, once all is written. Ends this process too, with that code, where MPI cannot be left in
  /// order: a rank is lost, or a message was given up.
  virtual void dismiss(ExitCode code) = 0;
};

/// Whether this process is one of several that mpirun, or a launcher with PMI, started.
bool started_by_mpirun();

}  // namespace linkmatrix::ranks
