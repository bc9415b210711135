# What `cmake --install` installs: component `runtime` is the program and the shared library, `development` what programs
# are built with. scripts/package makes Debian packages of them.
include(CMakePackageConfigHelpers)

file(STRINGS ${PROJECT_SOURCE_DIR}/core/api.h abi REGEX "define WEIR_ABI_VERSION \"${PROJECT_VERSION_MAJOR}\\.${PROJECT_VERSION_MINOR}\"")
if(NOT abi)
  message(FATAL_ERROR "WEIR_ABI_VERSION in core/api.h is not that of version ${PROJECT_VERSION}")
endif()

# In the order of the layers.
set(WEIR_PARTS weir_protos weir_core weir_gpu weir_graph weir_kernels weir_distribute weir_process_cluster weir_nccl weir_worker
    weir_master weir_runtime weir_client weir_client_data weir_client_training weir_client_estimator weir_client_models
    weir_client_trials weir_strategy weir_client_elastic weir_http weir_watch weir_server weir_launch weir_trace weir_cli weir_commands)
if(WEIR_ENABLE_CUDA)
  list(APPEND WEIR_PARTS weir_cuda)
endif()

set(objects)
foreach(part ${WEIR_PARTS})
  list(APPEND objects $<TARGET_OBJECTS:${part}>)
endforeach()
add_library(weir_shared SHARED ${objects})
# Versions before 1.0 are not compatible with each other: docs/compatibility.md.
set_target_properties(weir_shared PROPERTIES OUTPUT_NAME weir EXPORT_NAME weir VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINKER_LANGUAGE CXX
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
target_link_libraries(weir_shared PRIVATE ${WEIR_PARTS})
target_link_options(weir_shared PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map LINKER:-z,defs
  LINKER:--gc-sections LINKER:--as-needed)
# Public headers use these.
foreach(library ${WEIR_ABSL})
  target_link_libraries(weir_shared INTERFACE $<INSTALL_INTERFACE:${library}>)
endforeach()
target_compile_features(weir_shared INTERFACE cxx_std_20)
target_include_directories(weir_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# What a program needs besides libweir.a.
set(WEIR_STATIC_PACKAGES gRPC dnnl ZLIB PNG JPEG Snappy CURL EXPAT OpenSSL OpenMP Threads)
set(WEIR_STATIC_LINKS gRPC::grpc++ protobuf::libprotobuf DNNL::dnnl ZLIB::ZLIB PNG::PNG JPEG::JPEG Snappy::snappy
    CURL::libcurl EXPAT::EXPAT OpenSSL::Crypto OpenMP::OpenMP_CXX Threads::Threads ${WEIR_ABSL} re2 icuuc ${WEIR_LZ4_LIBRARY} ${WEIR_HTTPLIB_LIBRARY}
    ${WEIR_PROMETHEUS_LIBRARY} ${WEIR_WEBP_DEMUX_LIBRARY}
    ${WEIR_WEBP_LIBRARY} ${WEIR_LAPACK_LIBRARY} ${WEIR_BLIS_LIBRARY} ${WEIR_GFORTRAN_LIBRARY} ${CMAKE_DL_LIBS})
find_package(SQLite3 QUIET)
if(SQLite3_FOUND)
  list(APPEND WEIR_STATIC_LINKS sqlite3)
endif()
set(WEIR_HAS_GPU ${WEIR_ENABLE_CUDA})
# One archive of all parts, installed if it was built.
add_library(weir_static STATIC EXCLUDE_FROM_ALL ${objects})
set_target_properties(weir_static PROPERTIES OUTPUT_NAME weir LINKER_LANGUAGE CXX)
install(FILES $<TARGET_FILE:weir_static> DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development OPTIONAL)

# The installed program uses the library, which its plug-ins use too.
add_executable(weir_installed ${PROJECT_SOURCE_DIR}/tools/weir_main.cc)
target_include_directories(weir_installed PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(weir_installed PRIVATE weir_shared)
# Not called weir before it is installed: `--target weir` would mean this one.
set_target_properties(weir_installed PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/installed
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(PROGRAMS $<TARGET_FILE:weir_installed> RENAME weir DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
# CMake strips what it installs as a target. The loader finds the library of a package by itself.
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND \"${CMAKE_STRIP}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/weir\" COMMAND_ERROR_IS_FATAL ANY)
endif()
if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
  file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}/usr/${CMAKE_INSTALL_BINDIR}/weir\")
endif()" COMPONENT runtime)
set(pages ${CMAKE_BINARY_DIR}/compressed_man)
add_custom_command(OUTPUT ${pages}/stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_BINARY_DIR}/man ${pages}
  COMMAND gzip -9nr ${pages}
  COMMAND ${CMAKE_COMMAND} -E touch ${pages}/stamp
  DEPENDS ${CMAKE_BINARY_DIR}/weir_documentation.stamp VERBATIM)
add_custom_target(weir_compressed_man ALL DEPENDS ${pages}/stamp)
install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime FILES_MATCHING PATTERN "*.gz")
install(FILES ${CMAKE_BINARY_DIR}/completion/weir.bash RENAME weir COMPONENT runtime
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_BINARY_DIR}/completion/_weir COMPONENT runtime
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${CMAKE_BINARY_DIR}/completion/weir.fish COMPONENT runtime
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(TARGETS weir_shared EXPORT WeirTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime
  NAMELINK_COMPONENT development)
install(DIRECTORY ${WEIR_PUBLIC_HEADERS}/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${CMAKE_BINARY_DIR}/reference DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weir COMPONENT development OPTIONAL)

set(config_directory ${CMAKE_INSTALL_LIBDIR}/cmake/Weir)
install(EXPORT WeirTargets NAMESPACE Weir:: DESTINATION ${config_directory} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/WeirConfig.cmake.in ${CMAKE_BINARY_DIR}/WeirConfig.cmake
  INSTALL_DESTINATION ${config_directory} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/WeirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/WeirConfig.cmake ${CMAKE_BINARY_DIR}/WeirConfigVersion.cmake DESTINATION ${config_directory}
  COMPONENT development)

list(TRANSFORM WEIR_ABSL REPLACE "::" "_" OUTPUT_VARIABLE absl_modules)
list(JOIN absl_modules " " WEIR_PKGCONFIG_REQUIRES)
file(RELATIVE_PATH WEIR_PKGCONFIG_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/weir.pc.in ${CMAKE_BINARY_DIR}/weir.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weir.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
