# The packages that tune stands on; scripts/install_deps.sh has their Debian names.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(OPENCL REQUIRED IMPORTED_TARGET OpenCL)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
find_package(nng CONFIG REQUIRED)
find_library(MBEDCRYPTO_LIBRARY mbedcrypto REQUIRED)
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)

# CUDA is optional: looked for, told, and left out where it is missing. This version has no CUDA device yet.
find_package(CUDAToolkit QUIET)
if(CUDAToolkit_FOUND)
  message(STATUS "CUDA toolkit ${CUDAToolkit_VERSION} found (no CUDA device in this version)")
else()
  message(STATUS "CUDA toolkit not found: left out")
endif()
