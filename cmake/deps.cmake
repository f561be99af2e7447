# SPDX-License-Identifier: MIT
# deps.cmake - the packages that tune stands on, and those that tests and benches take along where they are (docs/building.md).
# CUDA is neither: driver, compiler and sensors are loaded when a program runs.
include(cmake/packages.cmake)
set(TUNE_OPTIONAL cmocka openmp onednn clblast cublas cudnn cusparse)
list(JOIN TUNE_OPTIONAL " " names)
set(TUNE_WITHOUT "" CACHE STRING "Optional packages to leave out as if they were not there, with ; between them: ${names}")
foreach(name IN LISTS TUNE_WITHOUT)
  if(NOT name IN_LIST TUNE_OPTIONAL)
    message(FATAL_ERROR "TUNE_WITHOUT: '${name}' is no optional package; there are: ${names}")
  endif()
endforeach()

find_package(Threads REQUIRED)
if(TUNE_BOARD)
  include(cmake/board.cmake)
else()
  find_package(PkgConfig QUIET)
  if(NOT PKG_CONFIG_FOUND)
    message(FATAL_ERROR "tune cannot be built without:\n  pkg-config (Debian: pkg-config)\nOn Debian scripts/install_deps.sh installs it.")
  endif()
  tune_package(cjson REQUIRED libcjson-dev MODULE libcjson)
  tune_package(sqlite REQUIRED libsqlite3-dev MODULE sqlite3)
  tune_package(curl REQUIRED libcurl4-openssl-dev MODULE libcurl WANTED 7.85)
  tune_package(expat REQUIRED libexpat1-dev MODULE expat)
  tune_package(opencl REQUIRED ocl-icd-opencl-dev MODULE OpenCL)
  tune_package(zlib REQUIRED zlib1g-dev MODULE zlib)
  tune_package(nng REQUIRED libnng-dev HEADERS nng/nng.h nng/supplemental/http/http.h LIBRARY nng
    VERSION_IN nng/nng.h NNG_MAJOR_VERSION NNG_MINOR_VERSION NNG_PATCH_VERSION BELOW 2)
  tune_package(mbedcrypto REQUIRED libmbedtls-dev HEADERS mbedtls/sha256.h mbedtls/md.h LIBRARY mbedcrypto)
endif()

if(TUNE_TESTS AND NOT TUNE_BOARD)
  tune_package(cmocka HEADERS cmocka.h LIBRARY cmocka MODULE cmocka WANTED 1.1.4)
endif()
if(TARGET package::cmocka) # peers of bench_ops: scripts/install_deps.sh --bench puts those that Debian does not have into TUNE_PEERS
  set(TUNE_PEERS_DEFAULT "$ENV{HOME}/.cache/tune-peers/venv")
  if(DEFINED ENV{TUNE_PEERS})
    set(TUNE_PEERS_DEFAULT "$ENV{TUNE_PEERS}")
  endif()
  set(TUNE_PEERS "${TUNE_PEERS_DEFAULT}" CACHE PATH "Where the benches' peers from PyPI are")
  set(CUDA_HINTS HINTS $ENV{CUDA_HOME} /usr/local/cuda)
  tune_package(openmp WANTED 3.0 PACKAGE OpenMP COMPONENT C TARGET OpenMP::OpenMP_C)
  tune_package(onednn HEADERS oneapi/dnnl/dnnl.h LIBRARY dnnl WANTED 3.0 HINTS ${TUNE_PEERS}
    VERSION_IN oneapi/dnnl/dnnl_version.h DNNL_VERSION_MAJOR DNNL_VERSION_MINOR DNNL_VERSION_PATCH)
  tune_package(clblast HEADERS clblast_c.h LIBRARY clblast MODULE clblast WANTED 1.5.1)
  tune_package(cublas HEADERS cublas_v2.h cuda_runtime_api.h WANTED 12.0 ${CUDA_HINTS}
    VERSION_IN cublas_api.h CUBLAS_VER_MAJOR CUBLAS_VER_MINOR CUBLAS_VER_PATCH)
  tune_package(cudnn HEADERS cudnn.h WANTED 8.7 ${CUDA_HINTS} VERSION_IN cudnn_version.h CUDNN_MAJOR CUDNN_MINOR CUDNN_PATCHLEVEL)
  tune_package(cusparse HEADERS cusparse.h WANTED 12.0 ${CUDA_HINTS}
    VERSION_IN cusparse.h CUSPARSE_VER_MAJOR CUSPARSE_VER_MINOR CUSPARSE_VER_PATCH)
endif()
tune_packages_told()
