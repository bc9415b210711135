# Several sources of one folder are compiled at a time: most of a small file's compile time goes into templates that its
# neighbours instantiate too. Names in unnamed namespaces of such neighbours must therefore differ.
option(WEIR_UNITY_BUILD "Compile several small sources at a time" ON)

# weir_unity(TARGET ROLE SIZE SOURCES…): SOURCES of TARGET in batches of SIZE, by path; ROLE names the batches. Sources with
# options of their own are compiled alone.
function(weir_unity name role size)
  if(NOT WEIR_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  list(SORT ARGN)
  set(count 0)
  foreach(source ${ARGN})
    math(EXPR batch "${count} / ${size}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${name}_${role}_${batch}")
    math(EXPR count "${count} + 1")
  endforeach()
endfunction()

# weir_library(NAME [DEPS …] [TEST_DEPS …] [EXCLUDE …] [ROLES …] [BATCH_EXCLUDE …] [BATCH_TESTS]): one static library from the
# folder's sources, and, from its *_test.cc files, one test program NAME_test whose cases ctest runs in parallel.

set(WEIR_ABSL absl::status absl::statusor absl::strings absl::str_format absl::flat_hash_map absl::flat_hash_set
    absl::inlined_vector absl::span absl::time absl::any_invocable absl::hash absl::cord absl::btree absl::cleanup)

function(weir_library name)
  cmake_parse_arguments(ARG "BATCH_TESTS" "" "DEPS;TEST_DEPS;EXCLUDE;ROLES;BATCH_EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|_testing\\.cc$|_main\\.cc$")
  set(batched ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$|_testing\\.cc$")
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
    list(FILTER tests EXCLUDE REGEX ${pattern})
  endforeach()
  if(sources)
    add_library(weir_${name} STATIC ${sources})
    target_include_directories(weir_${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(weir_${name} PUBLIC ${ARG_DEPS} ${WEIR_ABSL} Threads::Threads PRIVATE weir_warnings)
    target_compile_definitions(weir_${name} PRIVATE WEIR_UNCHECKED_TENSORS)
    weir_precompile(weir_${name} library)
    # BATCH_EXCLUDE, the EXCLUDE of another configuration, makes the batches of both alike, for ccache.
    if(NOT ARG_BATCH_EXCLUDE)
      set(ARG_BATCH_EXCLUDE ${ARG_EXCLUDE})
    endif()
    foreach(pattern ${ARG_BATCH_EXCLUDE})
      list(FILTER batched EXCLUDE REGEX ${pattern})
    endforeach()
    # Sources of different roles may use the same names: a CPU and a GPU kernel of one op, say.
    foreach(role ${ARG_ROLES})
      set(of_role ${batched})
      list(FILTER of_role INCLUDE REGEX "/${role}_[^/]*$")
      list(FILTER batched EXCLUDE REGEX "/${role}_[^/]*$")
      weir_unity(weir_${name} ${role} 4 ${of_role})
    endforeach()
    weir_unity(weir_${name} source 8 ${batched})
  else()
    add_library(weir_${name} INTERFACE)
    target_include_directories(weir_${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(weir_${name} INTERFACE ${ARG_DEPS} ${WEIR_ABSL} Threads::Threads)
  endif()
  if(WEIR_BUILD_TESTS AND tests)
    set(batch)
    if(ARG_BATCH_TESTS)
      set(batch BATCH)
    endif()
    weir_test(${name}_test SOURCES ${tests} DEPS weir_${name} ${ARG_TEST_DEPS} ${batch})
  endif()
endfunction()

# weir_sanitized(NAME): a program that also runs in a ThreadSanitizer build.
if(WEIR_SANITIZER STREQUAL "thread")
  set(WEIR_SANITIZER_ENVIRONMENT
      ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/sanitizers/tsan.supp")
endif()
function(weir_sanitized name)
  if(WEIR_SANITIZER STREQUAL "thread")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/sanitizers/grpc_happens_before.cc)
  endif()
endfunction()

# Tests run once after they are built: at -O0 they compile four times as fast. What they test keeps its optimisation.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WEIR_SANITIZER)
  set(WEIR_TEST_OPTIONS -O0)
endif()

# weir_test(NAME SOURCES … DEPS … [TIMEOUT s] [LABEL label] [BATCH]): a GoogleTest program; each TEST is one ctest entry.
# BATCH compiles several sources at a time: for programs of many.
# The label tensorflow marks comparisons with TensorFlow: scripts/test reports whether they ran.
function(weir_test name)
  cmake_parse_arguments(ARG "BATCH" "TIMEOUT;LABEL" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(labels)
  if(ARG_LABEL)
    set(labels LABELS ${ARG_LABEL})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} weir_testing weir_warnings GTest::gmock_main)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${WEIR_TEST_OPTIONS}>)
  weir_precompile(${name} program)
  if(ARG_BATCH)
    weir_unity(${name} test 4 ${ARG_SOURCES})
  endif()
  weir_sanitized(${name})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${ARG_TIMEOUT} ${labels} ${WEIR_SANITIZER_ENVIRONMENT})
endfunction()
