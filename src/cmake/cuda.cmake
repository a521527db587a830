# The cuda back end, with kernels for the GPU of this machine, else for a list of architectures. cudart is linked statically
# and loads the driver at run time. NVML is opened at run time. Programs therefore start without a driver and report it.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(
    COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(status EQUAL 0 AND capabilities MATCHES "^[0-9.\n ]+$")
    string(REPLACE "." "" capabilities "${capabilities}")
    string(REGEX MATCHALL "[0-9]+" CMAKE_CUDA_ARCHITECTURES "${capabilities}")
    list(REMOVE_DUPLICATES CMAKE_CUDA_ARCHITECTURES)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}" CACHE STRING "CUDA architectures")
endif()
message(STATUS "CUDA architectures: ${CMAKE_CUDA_ARCHITECTURES}")

enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
# Kernels and their headers are C++17, because older versions of nvcc and CMake lack CUDA20.
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

file(GLOB cuda_sources CONFIGURE_DEPENDS device/cuda/*.cpp device/cuda/*.cu)
add_library(linkmatrix_cuda STATIC ${cuda_sources})
target_link_libraries(linkmatrix_cuda PUBLIC linkmatrix_host CUDA::cudart_static ${CMAKE_DL_LIBS})
target_compile_options(linkmatrix_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra $<$<BOOL:${LINKMATRIX_WERROR}>:-Werror=all-warnings>>)
# From version 3.31, CMake would join kernels in a unity build too.
file(GLOB kernel_sources CONFIGURE_DEPENDS device/cuda/*.cu nbody/cuda/*.cu collective/nccl/*.cu)
set_source_files_properties(${kernel_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
