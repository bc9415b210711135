# Most of a small file's compile time is spent on system headers. GCC reads them once, into precompiled headers shared
# by all libraries and all programs. They contain no headers of ours, and every file still includes what it uses;
# clang-tidy, which does not use them, checks that.
option(WEIR_PRECOMPILED_HEADERS "Compile the system's headers once" ON)
set(WEIR_PRECOMPILES OFF)
if(WEIR_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(WEIR_PRECOMPILES ON)
endif()

set(WEIR_PRECOMPILED_SYSTEM
    <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <deque> <functional> <future> <limits> <map> <memory>
    <numeric> <optional> <random> <set> <sstream> <string> <thread> <utility> <variant> <vector>
    <absl/cleanup/cleanup.h> <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h>
    <absl/container/inlined_vector.h> <absl/functional/any_invocable.h> <absl/status/status.h>
    <absl/status/statusor.h> <absl/strings/cord.h> <absl/strings/match.h> <absl/strings/numbers.h>
    <absl/strings/str_cat.h> <absl/strings/str_format.h> <absl/strings/str_join.h> <absl/strings/str_split.h>
    <absl/time/clock.h> <absl/time/time.h> <absl/types/span.h> <Eigen/Core>
    <tensorflow/core/framework/attr_value.pb.h> <tensorflow/core/framework/function.pb.h>
    <tensorflow/core/framework/graph.pb.h> <tensorflow/core/framework/node_def.pb.h>
    <tensorflow/core/framework/op_def.pb.h> <tensorflow/core/framework/tensor.pb.h>
    <tensorflow/core/framework/tensor_shape.pb.h>)

# weir_precompile(TARGET library|program): makes TARGET use the precompiled headers.
function(weir_precompile name kind)
  if(NOT WEIR_PRECOMPILES)
    return()
  endif()
  # Required by ccache.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  target_precompile_headers(${name} REUSE_FROM weir_precompiled_${kind})
endfunction()

# weir_source_options(OPTION SOURCES…): adds OPTION to some files of the folder's library, which then cannot use headers
# precompiled without it.
function(weir_source_options option)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS ${option} SKIP_PRECOMPILE_HEADERS ON)
endfunction()

function(weir_precompiled_target kind)
  add_library(weir_precompiled_${kind} STATIC ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(weir_precompiled_${kind} PRIVATE weir_protos Eigen3::Eigen ${WEIR_ABSL} Threads::Threads)
  target_compile_options(weir_precompiled_${kind} PRIVATE -fpch-preprocess)
  target_precompile_headers(weir_precompiled_${kind} PRIVATE ${ARGN})
endfunction()

# Call after protos is defined: the precompiled headers include its headers.
function(weir_precompiled_targets)
  if(NOT WEIR_PRECOMPILES)
    return()
  endif()
  weir_precompiled_target(library ${WEIR_PRECOMPILED_SYSTEM})
  target_compile_definitions(weir_precompiled_library PRIVATE WEIR_UNCHECKED_TENSORS)  # as weir_library's targets
  if(WEIR_BUILD_TESTS)
    weir_precompiled_target(program ${WEIR_PRECOMPILED_SYSTEM} <gmock/gmock.h> <gtest/gtest.h>)
    target_link_libraries(weir_precompiled_program PRIVATE GTest::gmock)
    set_target_properties(weir_precompiled_program PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(weir_precompiled_program PRIVATE -fPIE ${WEIR_TEST_OPTIONS})
  endif()
endfunction()
