#include "ranks/cards.hpp"

#include <mpi.h>

#include <thread>

#include "core/units.hpp"
#include "device/host/host_facts.hpp"
#include "ranks/facts.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double startup_seconds = 60;  // until all ranks are there

/// This rank's number among those of its node.
int number_on_node(const Wire& wire) {
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, wire.rank(), MPI_INFO_NULL, &node), wire.rank(),
        "MPI_Comm_split_type");
  int number = 0;
  MPI_Comm_rank(node, &number);
  MPI_Comm_free(&node);
  return number;
}

std::unique_ptr<Payload> make_payload(Wire& wire, const NetworkOptions& options, Card& card) {
  if (options.memory == Memory::host) return std::make_unique<HostPayload>(wire, options.huge_pages);
  if (!options.device_payload)
    throw BadInput("--memory device: this p2p_matrix was built without it: configure with -DLINKMATRIX_CUDA=ON");
  return options.device_payload(wire, number_on_node(wire), card);
}

/// Network adapters near the memory that the card names.
void put_adapters(Card& card) {
  const std::vector<Adapter> all = adapters();
  card.adapters = static_cast<int>(all.size());
  std::vector<std::string> near;
  for (const Adapter& adapter : all)
    if (adapter.numa == card.numa || adapter.numa < 0 || card.numa < 0) near.push_back(adapter.name);
  put(card.nics, join(near, ","));
}

void wait(Wire& wire, MPI_Request& request, Deadline deadline) {
  while (!wire.test(request)) {
    if (deadline.passed()) {
      wire.session().set_stuck();
      throw TimedOut("not all of the " + std::to_string(wire.size()) + " ranks answered within " +
                     std::to_string(static_cast<int>(startup_seconds)) + " s of their start");
    }
    std::this_thread::yield();
  }
}

}  // namespace

Introduction introduce(Wire& wire, const NetworkOptions& options) {
  Introduction mine;
  Card& card = mine.card;
  put(card.node, host_facts().name);
  put(card.version, std::string(program_version) + " of " + compiler_version());
  put(card.options, options.options);
  put(card.network, mpi_network());
  put(card.device, "rank" + std::to_string(wire.rank()));
  put(card.model, "host memory");
  card.available = available_memory();
  card.numa = own_numa();
  card.cuda_aware = mpi_is_cuda_aware();
  try {
    mine.payload = make_payload(wire, options, card);
  } catch (const std::exception& e) {
    put(card.complaint, e.what());
    mine.payload = std::make_unique<HostPayload>(wire, false);
  }
  put_adapters(card);
  return mine;
}

std::vector<Card> gather(Wire& wire, const Card& card) {
  std::vector<Card> cards(wire.rank() == 0 ? static_cast<std::size_t>(wire.size()) : 0);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Igather(&card, sizeof(card), MPI_BYTE, cards.data(), sizeof(card), MPI_BYTE, 0, MPI_COMM_WORLD, &request),
        wire.rank(), "MPI_Igather");
  wait(wire, request, Deadline::in(startup_seconds));
  return cards;
}

std::string label_of(const Card& card) { return text_of(card.node) + ":" + text_of(card.device); }

}  // namespace linkmatrix::ranks
