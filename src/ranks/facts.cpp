#include "ranks/facts.hpp"

#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace linkmatrix::ranks {
namespace {

namespace fs = std::filesystem;

/// Environment variables that select transports and adapters, if set.
constexpr std::array network_variables{
    "OMPI_MCA_pml", "OMPI_MCA_btl",         "OMPI_MCA_mtl",  "UCX_TLS",        "UCX_NET_DEVICES",
    "FI_PROVIDER",  "MPICH_OFI_NIC_POLICY", "I_MPI_FABRICS", "PSM2_MULTIRAIL", "UCX_IB_GPU_DIRECT_RDMA"};
/// Part of a library's file name → transport of its messages.
constexpr std::array transport_libraries{std::pair{"/libuct_ib", "UCX InfiniBand"}, std::pair{"/libucp", "UCX"},
                                         std::pair{"/libfabric", "libfabric"},      std::pair{"/libpsm2", "PSM2"},
                                         std::pair{"/libportals", "Portals"},       std::pair{"mca_btl_tcp", "btl tcp"},
                                         std::pair{"mca_btl_openib", "btl openib"}};

/// Returns whether Open MPI uses its component ob1 (TCP and shared memory). Only ob1 has performance variables with
/// this prefix.
bool open_mpi_took_ob1() {
  int provided = 0, count = 0;
  bool found = false;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return false;
  MPI_T_pvar_get_num(&count);
  for (int i = 0; i < count; ++i) {
    std::array<char, 256> name{};
    int length = static_cast<int>(name.size()), level = 0, of = 0, bind = 0, readonly = 0, continuous = 0, atomic = 0,
        no_description = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum meanings = MPI_T_ENUM_NULL;
    const int status = MPI_T_pvar_get_info(i, name.data(), &length, &level, &of, &type, &meanings, nullptr,
                                           &no_description, &bind, &readonly, &continuous, &atomic);
    found = found || (status == MPI_SUCCESS && std::string(name.data()).starts_with("pml_ob1_"));
  }
  MPI_T_finalize();
  return found;
}

/// Returns the transport libraries that this process has loaded. MPI must be initialized.
std::string loaded_transports() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> found;
  for (std::string line; std::getline(maps, line);)
    for (const auto& [library, name] : transport_libraries)
      if (line.find(library) != std::string::npos) found.insert(name);
  std::string text;
  for (const std::string& name : found) text += (text.empty() ? "" : "+") + name;
  return text;
}

using Ask = std::string (*)(void* function);

std::string dotted(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

template <class Function>
Function as(void* function) {
  return reinterpret_cast<Function>(function);
}

std::string of_ucx(void* function) {
  const char* text = as<const char* (*)()>(function)();
  return text != nullptr ? text : "";
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

/// Returns the version in the file of a library; "" if the file does not contain it.
std::string version_of(const Library& library, const std::string& file) {
  void* const loaded = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (loaded == nullptr) return "";
  void* const function = ::dlsym(loaded, library.function);
  std::string version = function != nullptr ? library.version(function) : "";
  ::dlclose(loaded);
  return version;
}

}  // namespace

const char* const program_version = LINKMATRIX_VERSION;

int own_numa() {
  const int core = ::sched_getcpu();
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/cpu/cpu" + std::to_string(core), none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("node") && name.size() > 4) return std::atoi(name.c_str() + 4);
  }
  return -1;
}

std::string mpi_network() {
  std::string text = open_mpi_took_ob1() ? "pml ob1" : "";
  if (const std::string loaded = loaded_transports(); !loaded.empty())
    text += (text.empty() ? "" : ", ") + ("loaded " + loaded);
  for (const char* name : network_variables)
    if (const char* value = std::getenv(name)) text += (text.empty() ? "" : ", ") + std::string(name) + "=" + value;
  return text.empty() ? "unknown" : text;
}

bool mpi_is_cuda_aware() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  const char* mpich = std::getenv("MPICH_GPU_SUPPORT_ENABLED");
  const char* mvapich = std::getenv("MV2_USE_CUDA");
  return (mpich != nullptr && std::string(mpich) == "1") || (mvapich != nullptr && std::string(mvapich) == "1");
#endif
}

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
