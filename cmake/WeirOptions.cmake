# Compiler settings shared by every target of ours.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Only what core/api.h marks leaves the shared library. The compiler may then also inline functions that are not.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # For precompiled headers: no file uses __TIME__, and ccache must not read the headers' 250 MB for each file.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_INODECACHE=true ${WEIR_CCACHE})
endif()

# For programs with this many static libraries, GNU ld takes several times as long.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld WEIR_HAS_LLD)
if(WEIR_HAS_LLD)
  add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=lld>)
endif()

# One instruction set for every file: types with alignment (Eigen's) must agree across translation units.
if(WEIR_MARCH AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-march=${WEIR_MARCH}>)
endif()

# GCC's -O2 does not vectorise loops of unknown length, and our kernels are such loops. We neither read errno after a math
# function nor trap on floating-point exceptions; both would keep loops scalar. Values stay IEEE's.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno> $<$<COMPILE_LANGUAGE:CXX>:-fno-trapping-math>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fvect-cost-model=dynamic>)
endif()

if(WEIR_SANITIZER)
  add_compile_options(-fsanitize=${WEIR_SANITIZER} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${WEIR_SANITIZER})
  add_compile_definitions(WEIR_SANITIZER_BUILD=1)
endif()
if(WEIR_SANITIZER STREQUAL "thread")
  # The first macro adds members to protobuf's maps, which the system's protobuf was built without. The standard library
  # derives the second from it.
  add_compile_options(-U__SANITIZE_THREAD__ -D_GLIBCXX_TSAN=1)
endif()

add_library(weir_warnings INTERFACE)
set(WEIR_WARNINGS -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wnon-virtual-dtor
    -Woverloaded-virtual -Wno-sign-compare)
target_compile_options(weir_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${WEIR_WARNINGS}>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives on every moved absl::InlinedVector, and, where they are precompiled, on std::string's members.
  target_compile_options(weir_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>")
endif()
if(WEIR_WERROR)
  target_compile_options(weir_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
