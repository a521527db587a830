# Collectives of GPUs. CMake searches NCCL in NCCL_ROOT, in the paths of modules, next to CUDA, and in the system. NCCL_ROOT
# is a prefix, or the folder nvidia/nccl of the Python packages nvidia-nccl-cu12 and -cu13, which have only libnccl.so.2.
if(NOT LINKMATRIX_CUDA)
  message(FATAL_ERROR "LINKMATRIX_NCCL needs the devices' back end: configure with -DLINKMATRIX_CUDA=ON too")
endif()
set(nccl_places ${NCCL_ROOT} $ENV{NCCL_ROOT} $ENV{NCCL_HOME} $ENV{NCCL_DIR} ${CUDAToolkit_LIBRARY_ROOT})
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_places} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${nccl_places} PATH_SUFFIXES lib lib64)
if(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
  message(FATAL_ERROR "NCCL is not found (nccl.h, libnccl.so.2): load its module, install the Python package "
    "nvidia-nccl-cu13 and set NCCL_ROOT to its folder nvidia/nccl, or configure with -DLINKMATRIX_NCCL=OFF")
endif()
message(STATUS "NCCL: ${NCCL_LIBRARY}")

file(GLOB nccl_sources CONFIGURE_DEPENDS collective/nccl/*.cpp collective/nccl/*.cu)
target_sources(linkmatrix_collective PRIVATE ${nccl_sources})
target_include_directories(linkmatrix_collective SYSTEM PRIVATE ${NCCL_INCLUDE_DIR})
target_link_libraries(linkmatrix_collective PUBLIC linkmatrix_cuda ${NCCL_LIBRARY})
if(LINKMATRIX_MPI)
  target_link_libraries(linkmatrix_collective PUBLIC linkmatrix_rank_devices)
endif()
