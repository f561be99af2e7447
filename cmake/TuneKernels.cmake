# SPDX-License-Identifier: MIT
# TuneKernels.cmake - tune_add_kernels(): the best kernels of a log become a library of a build. Part of the package `tune`
# (find_package(tune)), and of tune's own tree.
#
#   tune_add_kernels(<target> LOG <best.jsonl>
#                    [NETWORK <name> [DTYPE <t>] [LAYOUT <l>] [WHOLE] | WORKLOADS <file>]   which layers; all of the log without
#                    [ALLOW_NEAREST]                                                layers without a record of their own, too
#                    [KEY <slug>] [FINGERPRINT <hex>]                               whose records, where the log has several devices
#                    [NAME <name>]                                                  of header, functions and library
#                    [BINARIES <what>...] [DEVICE <device>]                         `tune deploy --binaries`
#                    [OPTIONS <word>...]                                            more options of `tune deploy`
#                    [DEPENDS <file>...])                                           what the options name
#
# Runs `tune deploy` when the application is built, and again when the log, a file of workloads or tune itself has changed;
# its errors are errors of the build, in its words. <target> is linked (PRIVATE) with the library NAME (also NAME::NAME),
# whose header is NAME.h; NAME::vectors has test vectors, is built when something links it, and is for tests. NAME is the
# network's name as a C identifier (resnet_18), else tune_bundle.
# tune is the program `tune` of the host: that of the package, TUNE_EXECUTABLE, or what is found in PATH.

# What a bundle is called: as `tune deploy` does it.
function(_tune_bundle_name name out)
  string(REPLACE "=" "" name "${name}")
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" name "${name}")
  if(NOT name MATCHES "^[A-Za-z]")
    set(name "b${name}")
  endif()
  set(${out} "${name}" PARENT_SCOPE)
endfunction()

# The library of what deploy writes into `dir`. OpenCL's is linked where it is there: bundles of CUDA kernels need none.
function(_tune_bundle_library name dir)
  find_package(OpenCL QUIET)
  add_library(${name} STATIC "${dir}/${name}.c" "${dir}/${name}.h")
  add_library(${name}::${name} ALIAS ${name})
  target_link_libraries(${name} PUBLIC ${CMAKE_DL_LIBS})
  if(TARGET OpenCL::OpenCL)
    target_link_libraries(${name} PUBLIC OpenCL::OpenCL)
  endif()
  add_library(${name}_vectors STATIC EXCLUDE_FROM_ALL "${dir}/${name}_vectors.c")
  add_library(${name}::vectors ALIAS ${name}_vectors)
  add_dependencies(${name}_vectors ${name})
  target_link_libraries(${name}_vectors PUBLIC ${name})
  if(UNIX)
    target_link_libraries(${name}_vectors PUBLIC m)
  endif()
  foreach(library ${name} ${name}_vectors)
    target_include_directories(${library} PUBLIC "${dir}")
    set_target_properties(${library} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
  endforeach()
endfunction()

function(tune_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 K "WHOLE;ALLOW_NEAREST" "LOG;NETWORK;DTYPE;LAYOUT;WORKLOADS;KEY;FINGERPRINT;NAME;DEVICE"
                        "BINARIES;OPTIONS;DEPENDS")
  if(K_UNPARSED_ARGUMENTS OR K_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "tune_add_kernels(${target}): not understood: ${K_UNPARSED_ARGUMENTS} ${K_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "tune_add_kernels(${target}): expected a target that is there already")
  endif()
  if(NOT K_LOG)
    message(FATAL_ERROR "tune_add_kernels(${target}): expected LOG and a best log, e.g. x.best.jsonl")
  endif()
  if(K_NETWORK AND K_WORKLOADS)
    message(FATAL_ERROR "tune_add_kernels(${target}): expected NETWORK or WORKLOADS, not both")
  endif()
  if(NOT TARGET tune::tune)
    message(FATAL_ERROR "tune_add_kernels(${target}): expected find_package(tune) before")
  endif()

  if(K_NAME)
    _tune_bundle_name("${K_NAME}" name)
  elseif(K_NETWORK)
    _tune_bundle_name("${K_NETWORK}" name)
  else()
    set(name tune_bundle)
  endif()
  if(TARGET ${name})
    message(FATAL_ERROR "tune_add_kernels(${target}): there is a target ${name} already; choose another NAME")
  endif()

  get_filename_component(log "${K_LOG}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  set(dir "${CMAKE_CURRENT_BINARY_DIR}/tune/${name}")
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/tune") # deploy makes only the last folder
  set(words "${log}" -o "${dir}" --name "${name}" --quiet)
  set(files "${log}" ${K_DEPENDS})
  if(K_WORKLOADS)
    get_filename_component(workloads "${K_WORKLOADS}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND words --workloads "${workloads}")
    list(APPEND files "${workloads}")
  endif()
  foreach(option NETWORK DTYPE LAYOUT KEY FINGERPRINT DEVICE)
    if(K_${option})
      string(TOLOWER ${option} flag)
      list(APPEND words --${flag} "${K_${option}}")
    endif()
  endforeach()
  if(K_WHOLE)
    list(APPEND words --whole)
  endif()
  if(K_ALLOW_NEAREST)
    list(APPEND words --allow-nearest)
  endif()
  if(K_BINARIES)
    string(REPLACE ";" "," binaries "${K_BINARIES}")
    list(APPEND words --binaries "${binaries}")
  endif()

  add_custom_command(
    OUTPUT "${dir}/${name}.c" "${dir}/${name}.h" "${dir}/${name}_vectors.c" "${dir}/${name}_vectors.h"
    COMMAND tune::tune deploy ${words} ${K_OPTIONS}
    DEPENDS ${files} "$<TARGET_FILE:tune::tune>"
    COMMENT "tune deploy: ${name}"
    VERBATIM)
  _tune_bundle_library(${name} "${dir}")
  target_link_libraries(${target} PRIVATE ${name})
endfunction()
