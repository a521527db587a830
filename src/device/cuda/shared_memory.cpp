#include "device/cuda/shared_memory.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "core/units.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr auto fabric_handle = static_cast<CUmemAllocationHandleType>(8);  // CU_MEM_HANDLE_TYPE_FABRIC of CUDA 12.3

/// Entry points of the driver, looked up at run time, so that the program starts without a driver.
struct Driver {
  Driver() : library{::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)} {
    find(create, "cuMemCreate");
    find(release, "cuMemRelease");
    find(reserve, "cuMemAddressReserve");
    find(free, "cuMemAddressFree");
    find(map, "cuMemMap");
    find(unmap, "cuMemUnmap");
    find(set_access, "cuMemSetAccess");
    find(granularity, "cuMemGetAllocationGranularity");
    find(export_handle, "cuMemExportToShareableHandle");
    find(import_handle, "cuMemImportFromShareableHandle");
    find(attribute, "cuDeviceGetAttribute");
    find(error_name, "cuGetErrorName");
  }

  template <class Function>
  void find(Function*& function, const char* name) {
    function = library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
    complete = complete && function != nullptr;
  }

  void* library;  ///< stays open, as in the CUDA runtime
  bool complete = true;
  decltype(cuMemCreate)* create;
  decltype(cuMemRelease)* release;
  decltype(cuMemAddressReserve)* reserve;
  decltype(cuMemAddressFree)* free;
  decltype(cuMemMap)* map;
  decltype(cuMemUnmap)* unmap;
  decltype(cuMemSetAccess)* set_access;
  decltype(cuMemGetAllocationGranularity)* granularity;
  decltype(cuMemExportToShareableHandle)* export_handle;
  decltype(cuMemImportFromShareableHandle)* import_handle;
  decltype(cuDeviceGetAttribute)* attribute;
  decltype(cuGetErrorName)* error_name;
};

const Driver& driver() {
  static const Driver driver;
  if (!driver.complete) throw DeviceError("the driver has no virtual memory API: use --transport ipc");
  return driver;
}

/// Adds an explanation to the driver's error name.
std::string advice(HandleKind kind) {
  if (kind != HandleKind::fabric) return "";
  return "; fabric handles need NVLink switches and an IMEX channel, a device file under"
         " /dev/nvidia-caps-imex-channels";
}

void require(CUresult status, const std::string& where, const char* call, const std::string& hint = "") {
  if (status == CUDA_SUCCESS) return;
  const char* name = nullptr;
  driver().error_name(status, &name);
  throw DeviceError(where + ": " + call + " failed: " + (name == nullptr ? "?" : name) + hint);
}

CUmemLocation device_of(int ordinal) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = ordinal;
  return location;
}

CUmemAllocationProp properties_of(HandleKind kind, int ordinal) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = device_of(ordinal);
  properties.requestedHandleTypes =
      kind == HandleKind::fabric ? fabric_handle : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  int rdma = 0;
  const CUresult status =
      driver().attribute(&rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, ordinal);
  if (status == CUDA_SUCCESS && rdma != 0) properties.allocFlags.gpuDirectRDMACapable = 1;  // for network adapters
  return properties;
}

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

struct AllocationTraits {
  using Value = CUmemGenericAllocationHandle;
  static void destroy(Value memory) { driver().release(memory); }
};
using Allocation = Handle<AllocationTraits>;

}  // namespace

class SharedMemory::Mapping {
 public:
  /// Takes ownership of the memory and maps it for the device.
  Mapping(Allocation memory, std::uint64_t bytes, int ordinal, const std::string& where)
      : memory_{std::move(memory)}, bytes_{bytes} {
    require(driver().reserve(&address_, bytes, 0, 0, 0), where, "cuMemAddressReserve");
    try {
      require(driver().map(address_, bytes, 0, memory_.get(), 0), where, "cuMemMap");
      mapped_ = true;
      CUmemAccessDesc access{};
      access.location = device_of(ordinal);
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      require(driver().set_access(address_, bytes, &access, 1), where, "cuMemSetAccess");
    } catch (const DeviceError&) {
      unmap();
      throw;
    }
  }
  ~Mapping() {
    if (descriptor_) DescriptorServer::get()->withdraw(key_);
    unmap();
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }

  void share(HandleKind kind, ShareHandle& handle, const std::string& where) {
    if (kind == HandleKind::fabric)
      return require(driver().export_handle(handle.data.data(), memory_.get(), fabric_handle, 0), where,
                     "cuMemExportToShareableHandle");
    if (!descriptor_) {
      int number = -1;
      require(driver().export_handle(&number, memory_.get(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), where,
              "cuMemExportToShareableHandle");
      descriptor_ = std::make_unique<Descriptor>(number);
      server_ = DescriptorServer::get();
      key_ = server_->offer(number);
    }
    handle.descriptor = key_;
  }

 private:
  void unmap() {
    if (mapped_) driver().unmap(address_, bytes_);
    driver().free(address_, bytes_);
  }

  Allocation memory_;
  std::uint64_t bytes_;
  CUdeviceptr address_ = 0;
  bool mapped_ = false;
  std::shared_ptr<DescriptorServer> server_;
  std::unique_ptr<Descriptor> descriptor_;
  DescriptorKey key_;
};

namespace {

struct Allocated {
  Allocation memory;
  std::uint64_t bytes;
};

Allocated allocate(std::uint64_t bytes, HandleKind kind, int ordinal, const std::string& where) {
  const CUmemAllocationProp properties = properties_of(kind, ordinal);
  std::size_t unit = 0;
  require(driver().granularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), where,
          "cuMemGetAllocationGranularity", advice(kind));
  const std::uint64_t whole = round_up(bytes, unit);
  CUmemGenericAllocationHandle memory = 0;
  require(driver().create(&memory, whole, &properties, 0), where, "cuMemCreate", advice(kind));
  return {Allocation(memory), whole};
}

Allocation import_memory(const ShareHandle& handle, const std::string& where) {
  CUmemGenericAllocationHandle memory = 0;
  if (handle.kind == HandleKind::fabric) {
    std::array<unsigned char, 64> data = handle.data;
    require(driver().import_handle(&memory, data.data(), fabric_handle), where, "cuMemImportFromShareableHandle",
            advice(handle.kind));
    return Allocation(memory);
  }
  const auto descriptor = fetch_descriptor(handle.descriptor);
  const auto as_pointer = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor->number()));
  require(driver().import_handle(&memory, as_pointer, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), where,
          "cuMemImportFromShareableHandle");
  return Allocation(memory);
}

}  // namespace

SharedMemory SharedMemory::make(std::uint64_t bytes, HandleKind kind, int ordinal, const std::string& where) {
  SharedMemory memory;
  memory.kind_ = kind;
  memory.where_ = where;
  if (kind == HandleKind::ipc) {
    memory.bytes_ = std::max(bytes, least_shared_bytes);
    memory.own_ = make_device_memory(memory.bytes_, where);
    return memory;
  }
  Allocated allocated = allocate(bytes, kind, ordinal, where);
  memory.bytes_ = allocated.bytes;
  memory.mapping_ = std::make_shared<Mapping>(std::move(allocated.memory), allocated.bytes, ordinal, where);
  return memory;
}

SharedMemory SharedMemory::open(const ShareHandle& handle, int ordinal, const std::string& where) {
  SharedMemory memory;
  memory.kind_ = handle.kind;
  memory.where_ = where;
  memory.bytes_ = handle.bytes;
  if (handle.kind != HandleKind::ipc) {
    memory.mapping_ = std::make_shared<Mapping>(import_memory(handle, where), handle.bytes, ordinal, where);
    return memory;
  }
  cudaIpcMemHandle_t driver_handle;
  std::memcpy(&driver_handle, handle.data.data(), sizeof driver_handle);
  void* address = nullptr;
  check(cudaIpcOpenMemHandle(&address, driver_handle, cudaIpcMemLazyEnablePeerAccess), where, "cudaIpcOpenMemHandle");
  memory.opened_ = Import(static_cast<std::byte*>(address));
  return memory;
}

ShareHandle SharedMemory::share() const {
  ShareHandle handle;
  handle.kind = kind_;
  handle.bytes = bytes_;
  if (kind_ != HandleKind::ipc) {
    mapping_->share(kind_, handle, where_);
    return handle;
  }
  cudaIpcMemHandle_t driver_handle;
  check(cudaIpcGetMemHandle(&driver_handle, own_.get()), where_, "cudaIpcGetMemHandle");
  std::memcpy(handle.data.data(), &driver_handle, sizeof driver_handle);
  return handle;
}

std::byte* SharedMemory::data() const { return mapping_ ? mapping_->data() : own_ ? own_.get() : opened_.get(); }

std::optional<std::string> why_no_handles(HandleKind kind, int ordinal) {
  try {
    SharedMemory::make(1, kind, ordinal, "gpu" + std::to_string(ordinal)).share();
  } catch (const DeviceError& e) {
    return e.what();
  }
  return std::nullopt;
}

}  // namespace linkmatrix::cuda
