# SPDX-License-Identifier: MIT
# For TUNE_STATIC: what bare machines lack is linked in (static libraries only: scripts/sysroot.sh has them). OpenCL is loaded at run time.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
tune_package(cjson REQUIRED "none has libcjson.a, scripts/sysroot.sh makes it" HEADERS cjson/cJSON.h LIBRARY cjson)
tune_package(expat REQUIRED libexpat1-dev HEADERS expat.h LIBRARY expat)
tune_package(zlib REQUIRED zlib1g-dev HEADERS zlib.h LIBRARY z)
tune_package(nng REQUIRED libnng-dev HEADERS nng/nng.h LIBRARY nng)
tune_package(mbedcrypto REQUIRED libmbedtls-dev HEADERS mbedtls/sha256.h LIBRARY mbedcrypto)
if(NOT TUNE_BOARD)
  tune_package(sqlite REQUIRED libsqlite3-dev HEADERS sqlite3.h LIBRARY sqlite3)
  if(TARGET package::sqlite)
    target_link_libraries(package::headers_sqlite INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
  endif()
endif()
if(TARGET package::nng)
  target_link_libraries(package::headers_nng INTERFACE Threads::Threads)
endif()
add_library(package::opencl INTERFACE IMPORTED) # headers only: an application that links libtune links its OpenCL loader

add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-s -Wl,--gc-sections -Wl,--as-needed -Wl,-z,relro,-z,now)
if(TUNE_BOARD) # small
  add_compile_options(-fno-asynchronous-unwind-tables -fno-unwind-tables)
  add_link_options(-fno-asynchronous-unwind-tables -fno-unwind-tables)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "None") # of what is not optimised all code would be made at each link
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  endif()
endif()
