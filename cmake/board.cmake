# For TUNE_BOARD: what boards lack is linked in (static libraries only), unused parts are left out. OpenCL is loaded at run time.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)

function(tune_static target library header)
  find_library(${library}_STATIC ${library} REQUIRED)
  find_path(${library}_INCLUDE ${header} REQUIRED)
  add_library(${target} STATIC IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${library}_STATIC})
endfunction()

tune_static(PkgConfig::CJSON cjson cjson/cJSON.h)
tune_static(PkgConfig::ZLIB z zlib.h)
tune_static(nng::nng nng nng/nng.h)
target_link_libraries(nng::nng INTERFACE Threads::Threads)
find_library(MBEDCRYPTO_LIBRARY mbedcrypto REQUIRED)
add_library(PkgConfig::OPENCL INTERFACE IMPORTED) # headers only: an application that links libtune links its OpenCL loader

add_compile_options(-ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables)
add_link_options(-s -fno-asynchronous-unwind-tables -fno-unwind-tables -Wl,--gc-sections -Wl,--as-needed -Wl,-z,relro,-z,now)
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
