# Debian 12's packages; scripts/install_deps names them. Protobuf comes first and in module mode: gRPC's own
# package file would otherwise look for a protobuf package that Debian does not ship.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED MODULE)
find_package(absl REQUIRED)
find_package(gRPC REQUIRED CONFIG)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(dnnl REQUIRED CONFIG)
# The reference LAPACK, over BLIS. The archive, because liblapack.so may be OpenBLAS's: 0.3.21 shares buffers between
# threads in its serial build, and the zgemv of its threaded one reads behind the matrix. BLIS starts no threads.
find_library(WEIR_LAPACK_LIBRARY NAMES liblapack_pic.a REQUIRED)
find_library(WEIR_BLIS_LIBRARY NAMES blis PATH_SUFFIXES blis-serial REQUIRED)
find_library(WEIR_GFORTRAN_LIBRARY NAMES gfortran libgfortran.so.5 REQUIRED)
find_path(WEIR_LAPACK_INCLUDE_DIR lapack.h REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(ICU REQUIRED COMPONENTS uc)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(Snappy REQUIRED CONFIG)
find_package(CURL 7.85 REQUIRED)
find_package(EXPAT REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
# Debian's LZ4 has no CMake package file. Prefers the static library, so that programs run on machines without LZ4.
find_library(WEIR_LZ4_LIBRARY NAMES liblz4.a lz4 REQUIRED)
find_path(WEIR_LZ4_INCLUDE_DIR lz4.h REQUIRED)
# The same for its WebP libraries.
find_library(WEIR_WEBP_LIBRARY NAMES libwebp.a webp REQUIRED)
find_library(WEIR_WEBP_DEMUX_LIBRARY NAMES libwebpdemux.a webpdemux REQUIRED)
find_path(WEIR_WEBP_INCLUDE_DIR webp/decode.h REQUIRED)
# Debian's cpp-httplib is a library and a header that must be read with the settings of its build.
find_library(WEIR_HTTPLIB_LIBRARY NAMES cpp-httplib REQUIRED)
find_path(WEIR_HTTPLIB_INCLUDE_DIR httplib.h REQUIRED)
add_library(weir_httplib INTERFACE)
target_compile_definitions(weir_httplib INTERFACE
  CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
target_include_directories(weir_httplib SYSTEM INTERFACE ${WEIR_HTTPLIB_INCLUDE_DIR})
target_link_libraries(weir_httplib INTERFACE ${WEIR_HTTPLIB_LIBRARY})
# Of prometheus-cpp, the part without sockets; its CMake package file looks for the others' dependencies too.
find_library(WEIR_PROMETHEUS_LIBRARY NAMES prometheus-cpp-core REQUIRED)
find_path(WEIR_PROMETHEUS_INCLUDE_DIR prometheus/text_serializer.h REQUIRED)
if(WEIR_BUILD_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
