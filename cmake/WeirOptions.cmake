# Compiler settings shared by all of our targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # For precompiled headers: ccache must be told that no file uses __TIME__, and must not read their 250 MB for each
  # file.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_INODECACHE=true ${WEIR_CCACHE})
endif()

# One instruction set for all files: the alignment of types (Eigen's) must be the same in all translation units.
if(WEIR_MARCH AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-march=${WEIR_MARCH}>)
endif()

# GCC's -O2 vectorises no loop of unknown length; ours are plain loops that rely on it. No code here reads errno after a
# math function or traps on floating-point exceptions, and both keep loops scalar. Values stay IEEE's.
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
  # protobuf's maps have additional members if the first macro is defined, and the system's protobuf was built without
  # it. The standard library derives the second one from it.
  add_compile_options(-U__SANITIZE_THREAD__ -D_GLIBCXX_TSAN=1)
endif()

add_library(weir_warnings INTERFACE)
set(WEIR_WARNINGS -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wnon-virtual-dtor
    -Woverloaded-virtual -Wno-sign-compare)
target_compile_options(weir_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${WEIR_WARNINGS}>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives on every moved absl::InlinedVector and, with precompiled headers, on std::string's members.
  target_compile_options(weir_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>")
endif()
if(WEIR_WERROR)
  target_compile_options(weir_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
