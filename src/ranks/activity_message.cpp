#include "ranks/activity_message.hpp"

#include <algorithm>
#include <utility>

#include "ranks/text_message.hpp"

namespace linkmatrix::ranks {
namespace {

/// The figures of a node's load, in the order of the message.
template <class Load, class Visit>
void for_each_figure(Load& load, const Visit& visit) {
  for (auto* figure : {&load.load, &load.stolen, &load.busy, &load.own_busy, &load.throttled}) visit(*figure);
}

OtherProcess process_of(TextReader& reader) {
  OtherProcess process;
  process.where = reader.text();
  process.pid = reader.number<unsigned>();
  process.name = reader.text();
  process.user = reader.text();
  process.bytes = reader.optional_number<std::uint64_t>();
  process.seconds = reader.optional_number<double>();
  process.lately = reader.optional_number<double>();
  process.cores = reader.text();
  process.on_device = reader.number<int>() != 0;
  return process;
}

}  // namespace

std::vector<std::byte> pack(const Activity& look) {
  TextWriter writer;
  writer.number(look.shared ? int{*look.shared} : -1);
  writer.number(look.uses.size());
  for (const Use& use : look.uses) {
    writer.text(use.label), writer.text(use.of);
    writer.optional_number(use.counted), writer.optional_number(use.own);
    writer.text(use.cores);
  }
  writer.number(look.nodes.size());
  for (const NodeLoad& node : look.nodes) {
    writer.text(node.node);
    for_each_figure(node, [&](std::optional<double> figure) { writer.optional_number(figure); });
    writer.number(node.cores), writer.number(node.kernel);
    writer.text(node.quota);
  }
  writer.number(look.processes.size());
  for (const OtherProcess& process : look.processes) {
    writer.text(process.where), writer.number(process.pid);
    writer.text(process.name), writer.text(process.user);
    writer.optional_number(process.bytes), writer.optional_number(process.seconds);
    writer.optional_number(process.lately), writer.text(process.cores);
    writer.number(int{process.on_device});
  }
  writer.number(look.untold.size());
  for (const std::string& sentence : look.untold) writer.text(sentence);
  return writer.take();
}

Activity unpack_activity(std::span<const std::byte> bytes) {
  Activity look;
  TextReader reader(bytes);
  if (const int shared = reader.number<int>(); shared >= 0) look.shared = shared != 0;
  for (auto left = reader.number<std::size_t>(); left > 0; --left) {
    Use& use = look.uses.emplace_back();
    use.label = reader.text(), use.of = reader.text();
    use.counted = reader.optional_number<double>(), use.own = reader.optional_number<double>();
    use.cores = reader.text();
  }
  for (auto left = reader.number<std::size_t>(); left > 0; --left) {
    NodeLoad& node = look.nodes.emplace_back();
    node.node = reader.text();
    for_each_figure(node, [&](std::optional<double>& figure) { figure = reader.optional_number<double>(); });
    node.cores = reader.number<int>(), node.kernel = reader.number<double>();
    node.quota = reader.text();
  }
  for (auto left = reader.number<std::size_t>(); left > 0; --left) look.processes.push_back(process_of(reader));
  for (auto left = reader.number<std::size_t>(); left > 0; --left) look.untold.push_back(reader.text());
  reader.end();
  return look;
}

void add_look(Activity& all, Activity look, const std::string& rank, const std::string& node) {
  const std::string gpu_of_node = std::string(this_node) + ":";
  const auto name = [&](std::string& label) {
    if (label == this_node || label.starts_with(gpu_of_node))
      label.replace(0, std::string_view(this_node).size(), node);
    else
      label = rank;
  };
  if (look.shared) all.shared = *look.shared || all.shared.value_or(false);
  for (Use& use : look.uses) name(use.label), all.uses.push_back(std::move(use));
  for (NodeLoad& load : look.nodes) name(load.node), all.nodes.push_back(std::move(load));
  for (OtherProcess& process : look.processes) name(process.where), all.processes.push_back(std::move(process));
  for (const std::string& sentence : look.untold) {  // "rank: …"
    const auto colon = std::min(sentence.find(':'), sentence.size());
    std::string label = sentence.substr(0, colon);
    name(label);
    all.untold.push_back(label + sentence.substr(colon));
  }
}

}  // namespace linkmatrix::ranks
