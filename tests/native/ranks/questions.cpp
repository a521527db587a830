// Under mpirun -n 3: what rank 0 asks of the others' payloads, and a rank whose
// device does not work. The devices are scripted, all else is real. Exits 0 if
// all is as it should be.

#include <algorithm>
#include <iostream>

#include "device/backend.hpp"
#include "device/host/host_facts.hpp"
#include "no_memory.hpp"
#include "ranks/communicator.hpp"
#include "ranks/network.hpp"
#include "ranks/ranks.hpp"

namespace {

using namespace linkmatrix;
using namespace linkmatrix::ranks;

constexpr int without_device = 1;

/// Answers with the reversed question. An empty answer is valid. Questions that begin with 1 are refused.
class ScriptedDevice final : public NoMemory {
 public:
  std::vector<std::byte> answer(std::span<const std::byte> question) override {
    if (!question.empty() && question.front() == std::byte{1}) throw DeviceError("scripted: it cannot");
    return {question.rbegin(), question.rend()};
  }
};

std::vector<std::byte> bytes_of(std::size_t count, std::byte first) {
  std::vector<std::byte> bytes(count, std::byte{7});
  if (count > 0) bytes.front() = first;
  return bytes;
}

int failures = 0;
void expect(bool right, const std::string& what) {
  if (right) return;
  ++failures;
  std::cout << "FAILED: " << what << '\n';
}

void ask(Correspondence& ranks) {
  expect(!ranks.lost(0) && !ranks.lost(2), "ranks that have a device take part");
  expect(ranks.lost(without_device).value_or("").find("out of memory") != std::string::npos,
         "why a device is not there");
  for (const std::size_t count : {0u, 1u, 100u, 3000000u}) {  // by eager messages, and by those that wait
    const auto question = bytes_of(count, std::byte{2});
    const auto replies = ranks.ask({{0, question}, {2, question}}, 10);
    for (const auto& reply : replies) {
      expect(reply.status == ReportStatus::ok, "an answer to " + std::to_string(count) + " bytes: " + reply.why);
      expect(std::equal(question.begin(), question.end(), reply.bytes.rbegin(), reply.bytes.rend()), "the same bytes");
    }
  }
  const auto replies = ranks.ask({{0, bytes_of(4, std::byte{1})}, {2, bytes_of(4, std::byte{2})}}, 10);
  expect(replies[0].status == ReportStatus::error && replies[0].why == "scripted: it cannot", "why one failed");
  expect(replies[1].status == ReportStatus::ok, "the others' answers");
  expect(ranks.ask({{without_device, {}}}, 1).front().status != ReportStatus::ok, "nothing of one without a device");
}

}  // namespace

int main() {
  Correspondence* ranks = nullptr;
  NetworkOptions options;
  options.memory = Memory::device;
  options.transport = Transport::ipc;
  options.devices.make_payload = [](Communicator& mpi, int number, RankFacts& facts) -> std::unique_ptr<Payload> {
    put(facts.device, "gpu" + std::to_string(number));
    if (mpi.rank() == without_device) throw DeviceError("scripted: out of memory");
    put(facts.uuid, "GPU-" + std::to_string(number));
    return std::make_unique<ScriptedDevice>();
  };
  options.devices.discover = [](std::vector<Endpoint>& devices) {
    Topology links;
    links.link_class = Matrix<std::string>(devices.size(), devices.size(), "NV18");
    return links;
  };
  options.devices.make_backend = [&](Correspondence& found, const Machine&, Transport) {
    ranks = &found;
    return std::unique_ptr<Backend>();
  };
  const auto network = Network::start(options);
  if (!network->is_root()) {
    network->serve();
    return 0;
  }
  ask(*ranks);
  const auto nodes = network->nodes();
  expect(nodes.size() == 1 && nodes.front().name == host_facts().name, "each node says of itself what it is, once");
  expect(network->link_class(false, 0, 2) == "NV18", "link classes of devices are those of their links");
  network->dismiss(failures == 0 ? ExitCode::measured : ExitCode::failed);
  return failures == 0 ? 0 : 1;
}
