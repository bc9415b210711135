# Debian packages, made by scripts/package: weir (the program and the library) and libweir-dev. A build with CUDA makes
# weir-cuda and libweir-cuda-dev instead: the same files, with GPU kernels.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VENDOR "The Weir authors")
set(WEIR_MAINTAINER "Local build <weir@localhost>" CACHE STRING "Maintainer of the packages: name and address")
set(CPACK_PACKAGE_CONTACT ${WEIR_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "TensorFlow-style dataflow graphs on clusters")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(runtime weir)
set(development libweir-dev)
if(WEIR_ENABLE_CUDA)
  set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages-cuda)
  set(runtime weir-cuda)
  set(development libweir-cuda-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_CONFLICTS libweir-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_REPLACES libweir-dev)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_PROVIDES "weir (= ${PROJECT_VERSION}-1)")
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONFLICTS weir)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_REPLACES weir)
endif()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${runtime})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# For files of "https://" and "s3://".
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/deploy/debian/triggers)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
    "The program weir, which runs and inspects the tasks of a cluster, and the
 shared library that C++ programs and such tasks use.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME ${development})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${runtime} (= ${PROJECT_VERSION}-1), libabsl-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Headers for C++ programs that build and train models. CMake programs use
 find_package(Weir), others pkg-config.")

# Debian asks for a changelog and a copyright file in each package.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(debian ${CMAKE_BINARY_DIR}/debian)
configure_file(${PROJECT_SOURCE_DIR}/deploy/debian/changelog.in ${debian}/changelog.Debian @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/CHANGELOG.md ${debian}/changelog COPYONLY)
foreach(file changelog.Debian changelog)
  execute_process(COMMAND gzip -9nf ${debian}/${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(component runtime development)
  string(TOUPPER ${component} upper)
  install(FILES ${debian}/changelog.Debian.gz ${debian}/changelog.gz ${PROJECT_SOURCE_DIR}/deploy/debian/copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

include(CPack)
