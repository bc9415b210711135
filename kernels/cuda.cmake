# The sources for nvcc, and where the libraries of the CUDA toolkit are; included by kernels/CMakeLists.txt.
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_cuda.cu)
add_library(weir_cuda_kernels STATIC ${cuda_sources})
target_include_directories(weir_cuda_kernels PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(weir_kernels PUBLIC weir_cuda_kernels weir_cuda)
# Only these see the toolkit's headers: everything else is compiled as without a toolkit, so both builds share ccache
# entries.
file(GLOB_RECURSE toolkit_users CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_cuda.cc
     ${CMAKE_CURRENT_SOURCE_DIR}/cudnn_*.cc)
set(toolkit_options)
foreach(folder ${CUDAToolkit_INCLUDE_DIRS} ${WEIR_CUDNN_INCLUDE_DIR})
  list(APPEND toolkit_options -isystem${folder})
endforeach()
set_source_files_properties(${toolkit_users} PROPERTIES COMPILE_OPTIONS "${toolkit_options}")

set(exact_cuda
  kernels/convolution/device_volume_cuda.cu
  kernels/elementwise/device_complex_cuda.cu
  kernels/elementwise/device_cuda.cu
  kernels/image/device_cuda.cu
  kernels/normalization/device_lrn_cuda.cu
  kernels/pooling/device_volume_cuda.cu
  kernels/random/device_cuda.cu)
list(TRANSFORM exact_cuda PREPEND ${PROJECT_SOURCE_DIR}/)
set_source_files_properties(${exact_cuda} PROPERTIES COMPILE_OPTIONS --fmad=false)

find_library(WEIR_NVRTC_LIBRARY NAMES libnvrtc.so.13 HINTS ${CUDAToolkit_LIBRARY_DIR})
set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/fusion/nvrtc_functions_cuda.cc PROPERTIES
  COMPILE_DEFINITIONS WEIR_NVRTC_LIBRARY="$<$<BOOL:${WEIR_NVRTC_LIBRARY}>:${WEIR_NVRTC_LIBRARY}>")
find_library(WEIR_CUSPARSE_LIBRARY NAMES libcusparse.so.12 HINTS ${CUDAToolkit_LIBRARY_DIR})
set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/sparse/gpu/cusparse_cuda.cc PROPERTIES
  COMPILE_DEFINITIONS WEIR_CUSPARSE_LIBRARY="$<$<BOOL:${WEIR_CUSPARSE_LIBRARY}>:${WEIR_CUSPARSE_LIBRARY}>")
find_library(WEIR_CUBLASLT_LIBRARY NAMES libcublasLt.so.13 HINTS ${CUDAToolkit_LIBRARY_DIR})
set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/linalg/matmul/cublas_lt_functions_cuda.cc PROPERTIES
  COMPILE_DEFINITIONS WEIR_CUBLASLT_LIBRARY="$<$<BOOL:${WEIR_CUBLASLT_LIBRARY}>:${WEIR_CUBLASLT_LIBRARY}>")
if(WEIR_CUDNN_INCLUDE_DIR)
  target_include_directories(weir_cuda_headers SYSTEM INTERFACE ${WEIR_CUDNN_INCLUDE_DIR})
  set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/device/cudnn/cudnn_functions.cc PROPERTIES
    COMPILE_DEFINITIONS WEIR_CUDNN_LIBRARY="$<$<BOOL:${WEIR_CUDNN_LIBRARY}>:${WEIR_CUDNN_LIBRARY}>")
endif()

if(WEIR_BUILD_TESTS)
  file(GLOB_RECURSE cuda_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_cuda_test.cc)
  set(driver_tests ${cuda_tests})
  list(FILTER driver_tests INCLUDE REGEX "/cudnn_(attention|norm)_cuda_test\\.cc$")
  list(REMOVE_ITEM cuda_tests ${driver_tests})
  if(NOT WEIR_CUDNN_INCLUDE_DIR)
    list(FILTER cuda_tests EXCLUDE REGEX "/cudnn_[a-z_]*\\.cc$")
  endif()
  weir_test(cuda_kernels_test SOURCES ${cuda_tests} DEPS weir_kernels weir_cuda_headers)
  if(WEIR_CUDNN_INCLUDE_DIR)
    # Programs of their own: no other may load this driver.
    file(GLOB_RECURSE driver CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/driver_testing.cc)
    add_library(weir_test_driver MODULE ${driver})
    set_target_properties(weir_test_driver PROPERTIES LINK_OPTIONS "-Wl,-soname,libcuda.so.1" CXX_VISIBILITY_PRESET default)
    foreach(source ${driver_tests})
      string(REGEX REPLACE ".*/(cudnn_[a-z]*)_cuda_test\\.cc$" "\\1_test" name ${source})
      weir_test(${name} SOURCES ${source} DEPS weir_kernels weir_cuda_headers)
      target_compile_definitions(${name} PRIVATE WEIR_TEST_DRIVER="$<TARGET_FILE:weir_test_driver>")
      add_dependencies(${name} weir_test_driver)
    endforeach()
  endif()
endif()
