// Readers of external texts and bytes. Each reads any bytes, or refuses them with one sentence. LINKMATRIX_FUZZED names
// the reader. Built by clang with LINKMATRIX_FUZZER, this is a libFuzzer program. Otherwise mutations.cpp generates the
// bytes.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../confined.hpp"
#include "../parsed_options.hpp"
#include "../sysfs_tree.hpp"
#include "collective/options.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "device/cuda/nvml.hpp"
#include "device/host/activity.hpp"
#include "device/host/adapters.hpp"
#include "device/host/numa.hpp"
#include "measure/references.hpp"
#include "nbody/options.hpp"
#include "p2p/options.hpp"
#include "ranks/groups.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

/// A folder, in memory if possible, for the lifetime of the process.
struct ScratchFolder {
  ScratchFolder() { fs::create_directories(folder); }
  ~ScratchFolder() { fs::remove_all(folder); }
  const fs::path folder =
      fs::path(fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp") / ("linkmatrix_fuzz." + std::to_string(::getpid()));
};

const fs::path& scratch_folder() {
  static const ScratchFolder scratch;
  return scratch.folder;
}

/// Splits a text at blanks and line ends, as a shell does without quotes.
std::vector<std::string> error_text(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return split(text, ' ');
}

void read_adapters(const std::string& text) {
  const fs::path root = scratch_folder() / "tree";
  fs::remove_all(root);
  std::ofstream(scratch_folder() / "description") << text;
  try {
    SysfsTree(root).add(scratch_folder() / "description");
  } catch (const std::exception&) {  // no tree that a kernel could have: what there is of it is read all the same
  }
  std::vector<Endpoint> devices(1);
  devices[0].pci = "0000:1b:00.0";
  devices[0].node = "n1";
  NodeFacts node;
  node.name = "n1";
  node.adapters = adapter_ports(root);
  name_nearest_adapters(devices, {node});
}

/// Writes files below a folder. A line "@stat" begins the file stat. Files outside the folder are skipped.
void write_files(const fs::path& root, const std::string& text) {
  std::istringstream lines(text);
  std::ofstream file;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('@')) {
      file << line << '\n';
      continue;
    }
    file = std::ofstream();
    try {
      const fs::path name = confined(root, root / line.substr(1));
      fs::create_directories(name.parent_path());
      file = std::ofstream(name);
    } catch (const std::runtime_error&) {  // nor one that no folder can have
    }
  }
}

void read_processes(const std::string& text) {
  const fs::path root = scratch_folder() / "tree";
  fs::remove_all(root);
  fs::create_directories(root);
  write_files(root, text);
  ProcessorPoll poll(root);
  Activity activity;
  poll.add_node(activity, "n1");
  poll.add_node(activity, "n1");
  poll.user_of(7);
}

void read_nvml(const std::string& text) {
  std::ofstream(scratch_folder() / "answers") << text;
  ::setenv("LINKMATRIX_REPLAYED_NVML", (scratch_folder() / "answers").c_str(), 1);
  const std::string pci = "0000:1b:00.0";
  const cuda::Nvml nvml;
  nvml.state(pci), nvml.part(pci), nvml.links(pci), nvml.link_rate(pci), nvml.module(pci), nvml.memory_holders(pci);
  nvml.processes(pci), nvml.pcie(pci), nvml.counters(pci), nvml.readings(pci), nvml.throttle_reasons(pci);
}

void read_references(const std::string& text) {
  MatrixDescription shape;
  shape.testcase = "t";
  shape.unit = "GB/s";
  shape.rows = shape.columns = {"gpu0", "gpu1"};
  shape.link_class = {2, 2, "NV18"};
  References::parse(text).values_for(shape);
}

using Read = std::function<void(const std::string&)>;

const std::map<std::string, Read>& readers() {
  static const std::map<std::string, Read> all{
      {"p2p_options", [](const auto& text) { parsed(parse_p2p_options, error_text(text)); }},
      {"collective_options", [](const auto& text) { parsed(parse_collective_options, error_text(text)); }},
      {"nbody_options", [](const auto& text) { parsed(parse_nbody_options, error_text(text)); }},
      {"hosts", [](const auto& text) { ranks::expanded_hosts(text); }},
      {"references", read_references},
      {"groups", [](const auto& text) { ranks::parse_groups(text); }},
      {"cores", [](const auto& text) { parse_cpu_list(text); }},
      {"adapters", read_adapters},
      {"processes", read_processes},
      {"nvml", read_nvml},
  };
  return all;
}

[[noreturn]] void refuse(const std::string& name) {
  std::fprintf(stderr, "LINKMATRIX_FUZZED=%s: name one of", name.c_str());
  for (const auto& reader : readers()) std::fprintf(stderr, " %s", reader.first.c_str());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

const Read& named() {
  const char* const said = std::getenv("LINKMATRIX_FUZZED");
  const std::string name = said == nullptr ? "" : said;
  const auto found = readers().find(name);
  if (found == readers().end()) refuse(name);
  return found->second;
}

void refused_in_a_sentence(const std::exception& refusal) {
  if (*refusal.what() != '\0') return;
  std::fprintf(stderr, "it was refused without a word\n");
  std::abort();
}

}  // namespace
}  // namespace linkmatrix

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count) {
  using namespace linkmatrix;
  try {
    static const Read& read = named();
    read(std::string(reinterpret_cast<const char*>(bytes), count));
  } catch (const BadInput& refusal) {
    refused_in_a_sentence(refusal);
  } catch (const DeviceError& refusal) {
    refused_in_a_sentence(refusal);
  } catch (const std::invalid_argument& refusal) {  // of a list of cores
    refused_in_a_sentence(refusal);
  }
  return 0;
}
