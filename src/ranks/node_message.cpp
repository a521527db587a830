#include "ranks/node_message.hpp"

#include "ranks/text_message.hpp"

namespace linkmatrix::ranks {
namespace {

/// The texts of a node, and of a port, in the order of the message.
template <class Node, class Visit>
void for_each_text(Node& node, const Visit& visit) {
  for (auto* text :
       {&node.name, &node.machine, &node.serial, &node.product, &node.kernel, &node.boot, &node.bios, &node.board})
    visit(*text);
}
template <class Port, class Visit>
void for_each_text_of_port(Port& port, const Visit& visit) {
  for (auto* text : {&port.name, &port.state, &port.rate, &port.link_layer, &port.physical_state}) visit(*text);
}

}  // namespace

std::vector<std::byte> pack(const NodeFacts& node) {
  TextWriter writer;
  const auto write = [&](const std::string& text) { writer.text(text); };
  for_each_text(node, write);
  writer.number(node.adapters.size());
  for (const AdapterPort& port : node.adapters) {
    for_each_text_of_port(port, write);
    writer.facts(port.part);
    writer.facts(port.place);
    writer.number(port.numa);
    writer.number(port.interfaces.size());
    for (const FactTexts& interface : port.interfaces) writer.facts(interface);
    writer.facts(port.pcie);
    writer.number(port.gpus.size());
    for (const GpuPath& gpu : port.gpus) {
      writer.text(gpu.pci), writer.text(gpu.link_class);
      writer.number(gpu.bridges), writer.number(int{gpu.nearest});
    }
    writer.counts(port.counters.errors), writer.counts(port.counters.congestion);
  }
  return writer.take();
}

NodeFacts unpack(std::span<const std::byte> bytes) {
  NodeFacts node;
  TextReader reader(bytes);
  const auto read = [&](std::string& text) { text = reader.text(); };
  for_each_text(node, read);
  for (auto left = reader.number<std::size_t>(); left > 0; --left) {
    AdapterPort& port = node.adapters.emplace_back();
    for_each_text_of_port(port, read);
    port.part = reader.facts();
    port.place = reader.facts();
    port.numa = reader.number<int>();
    for (auto more = reader.number<std::size_t>(); more > 0; --more) port.interfaces.push_back(reader.facts());
    port.pcie = reader.facts();
    for (auto more = reader.number<std::size_t>(); more > 0; --more) {
      GpuPath& gpu = port.gpus.emplace_back();
      read(gpu.pci), read(gpu.link_class);
      gpu.bridges = reader.number<int>();
      gpu.nearest = reader.number<int>() != 0;
    }
    port.counters = {reader.counts(), reader.counts()};
  }
  reader.end();
  return node;
}

}  // namespace linkmatrix::ranks
