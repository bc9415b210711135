# WEIR_ENABLE_CUDA: the toolkit, and nvcc for *.cu. Only the runtime API is linked: a program linked with the driver API
# (libcuda) would not start on a machine without a GPU.

find_package(CUDAToolkit 13 REQUIRED)
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "nvcc")
endif()
if(WEIR_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${WEIR_CCACHE})
endif()

# Turing to Blackwell in one binary, with PTX of the last for later architectures.
set(WEIR_CUDA_ARCHITECTURES "75-real;80-real;86-real;89-real;90-real;100" CACHE STRING
    "What nvcc generates code for, as CMAKE_CUDA_ARCHITECTURES")
set(CMAKE_CUDA_ARCHITECTURES ${WEIR_CUDA_ARCHITECTURES})

enable_language(CUDA)
# CMake 3.25 does not know that nvcc supports C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} --expt-relaxed-constexpr --Werror all-warnings")
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
