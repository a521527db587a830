#include "ranks/transport_versions.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <fstream>

namespace linkmatrix::ranks {
namespace {

using Ask = std::string (*)(void* function);

std::string dotted(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

template <class Function>
Function as(void* function) {
  return reinterpret_cast<Function>(function);
}

std::string of_ucx(void* function) {
  const char* said = as<const char* (*)()>(function)();
  return said != nullptr ? said : "";
}

std::string of_libfabric(void* function) {
  const std::uint32_t version = as<std::uint32_t (*)()>(function)();
  return dotted(version >> 16, version & 0xffff);
}

std::string of_gdrcopy(void* function) {
  int major = 0, minor = 0;
  as<void (*)(int*, int*)>(function)(&major, &minor);
  return dotted(static_cast<unsigned>(major), static_cast<unsigned>(minor));
}

struct Library {
  const char *name, *file, *function;
  Ask version;
};

constexpr std::array libraries{Library{"UCX", "libucp", "ucp_get_version_string", of_ucx},
                               Library{"libfabric", "libfabric", "fi_version", of_libfabric},
                               Library{"GDRCopy", "libgdrapi", "gdr_runtime_get_version", of_gdrcopy}};
constexpr const char* gdrcopy_in_kernel = "/sys/module/gdrdrv/version";

std::vector<std::string> own_mappings() {
  std::vector<std::string> lines;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) lines.push_back(line);
  return lines;
}

/// Empty where the file is no such library, or does not say.
std::string version_of(const Library& library, const std::string& file) {
  void* const loaded = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (loaded == nullptr) return "";
  void* const function = ::dlsym(loaded, library.function);
  std::string version = function != nullptr ? library.version(function) : "";
  ::dlclose(loaded);
  return version;
}

}  // namespace

std::string library_file(const std::vector<std::string>& mappings, const std::string& name) {
  for (const std::string& line : mappings) {
    const std::size_t path = line.find('/'), at = line.rfind('/');
    if (at == std::string::npos) continue;
    const std::string file = line.substr(at + 1);
    // conda and vendors name a copy libucp-1a2b3c.so.0
    if (file.starts_with(name + ".so") || (file.starts_with(name + "-") && file.find(".so") != std::string::npos))
      return line.substr(path);
  }
  return "";
}

Software transport_versions() {
  const std::vector<std::string> mappings = own_mappings();
  Software found;
  for (const Library& library : libraries)
    if (const std::string file = library_file(mappings, library.file); !file.empty()) {
      const std::string version = version_of(library, file);
      found[library.name] = version.empty() ? "unknown" : version;
    }
  std::string in_kernel;
  if (std::ifstream version(gdrcopy_in_kernel); version && std::getline(version, in_kernel) && !in_kernel.empty())
    found["GDRCopy driver"] = in_kernel;
  return found;
}

}  // namespace linkmatrix::ranks
