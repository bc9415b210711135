# The headers that installed programs include, as "weir/session.h". Those of a program in the tree, which links weir_api,
# include the tree's, so that it may use internal ones too.
set(WEIR_PUBLIC_HEADERS ${CMAKE_BINARY_DIR}/public_headers)
set(WEIR_FORWARDERS ${CMAKE_BINARY_DIR}/forwarders)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# weir_public_headers(GENERATED_DIRECTORY GENERATED_HEADER…): call once, after the headers that the build generates.
function(weir_public_headers directory)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/client/*.h ${PROJECT_SOURCE_DIR}/core/*.h
       ${PROJECT_SOURCE_DIR}/distribute/cluster/*.h ${PROJECT_SOURCE_DIR}/graph/*.h ${PROJECT_SOURCE_DIR}/kernels/*.h
       ${PROJECT_SOURCE_DIR}/tools/*.h)
  set(script ${PROJECT_SOURCE_DIR}/scripts/public_headers.py)
  set(stamp ${WEIR_PUBLIC_HEADERS}/stamp)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${Python3_EXECUTABLE} ${script} ${WEIR_PUBLIC_HEADERS} --generated ${directory} --forwarders ${WEIR_FORWARDERS}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${script} ${PROJECT_SOURCE_DIR}/cmake/public_headers.txt ${headers} ${ARGN} VERBATIM)
  add_custom_target(weir_public_headers ALL DEPENDS ${stamp})
  # HTML pages of these headers and of every op. Target docs; installed if they were made.
  set(pages ${CMAKE_BINARY_DIR}/reference/index.html)
  set(reference ${PROJECT_SOURCE_DIR}/docs/tools/reference.py)
  add_custom_command(OUTPUT ${pages}
    COMMAND ${Python3_EXECUTABLE} ${reference} ${CMAKE_BINARY_DIR}/reference --headers ${WEIR_PUBLIC_HEADERS}
            --ops ${PROJECT_SOURCE_DIR}/kernels
    DEPENDS ${reference} ${stamp} VERBATIM)
  add_custom_target(docs DEPENDS ${pages})
  add_library(weir_api INTERFACE)
  target_include_directories(weir_api INTERFACE ${WEIR_FORWARDERS})
  add_dependencies(weir_api weir_public_headers)
endfunction()
