#include "ranks/node_message.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>

#include "core/error.hpp"

namespace linkmatrix::ranks {
namespace {

using Length = std::uint32_t;

/// Texts one after the other, each with its length before it; numbers are texts too.
class Writer {
 public:
  void text(const std::string& text) {
    const auto length = static_cast<Length>(text.size());
    append(&length, sizeof length);
    append(text.data(), text.size());
  }
  template <class Number>
  void number(Number number) {
    text(std::to_string(number));
  }
  void facts(const FactTexts& facts) {
    number(facts.size());
    for (const auto& [name, fact] : facts) text(name), text(fact);
  }
  void counts(const std::map<std::string, double>& counts) {
    number(counts.size());
    for (const auto& [name, count] : counts) text(name), number(count);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + bytes);
  }

  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_{bytes} {}

  std::string text() {
    Length length = 0;
    std::memcpy(&length, take(sizeof length).data(), sizeof length);
    const auto bytes = take(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <class Number>
  Number number() {
    const std::string digits = text();
    Number number{};
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failure != std::errc{} || end != digits.data() + digits.size()) fail();
    return number;
  }
  FactTexts facts() {
    FactTexts facts;
    for (auto left = number<std::size_t>(); left > 0; --left) {
      const std::string name = text();
      facts[name] = text();
    }
    return facts;
  }
  std::map<std::string, double> counts() {
    std::map<std::string, double> counts;
    for (auto left = number<std::size_t>(); left > 0; --left) {
      const std::string name = text();
      counts[name] = number<double>();
    }
    return counts;
  }
  void end() const {
    if (!rest_.empty()) fail();
  }

 private:
  [[noreturn]] static void fail() { throw DeviceError("what a node says of itself did not arrive whole"); }

  std::span<const std::byte> take(std::size_t bytes) {
    if (bytes > rest_.size()) fail();
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }

  std::span<const std::byte> rest_;
};

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
  Writer writer;
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
  Reader reader(bytes);
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
