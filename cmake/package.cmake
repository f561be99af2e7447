# SPDX-License-Identifier: MIT
# package.cmake - what other projects find: find_package(tune) and pkg-config. In this tree the same function works on the
# tree's own program.
include(CMakePackageConfigHelpers)
set(TUNE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tune)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tuneConfig.cmake.in ${CMAKE_BINARY_DIR}/tuneConfig.cmake
  INSTALL_DESTINATION ${TUNE_CMAKE_DIR} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# the program is the host's, whatever the application is built for
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tuneConfigVersion.cmake COMPATIBILITY SameMajorVersion
  ARCH_INDEPENDENT)
install(FILES ${CMAKE_BINARY_DIR}/tuneConfig.cmake ${CMAKE_BINARY_DIR}/tuneConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/TuneKernels.cmake DESTINATION ${TUNE_CMAKE_DIR})

file(RELATIVE_PATH TUNE_PC_UP ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TUNE_PC_UP "${TUNE_PC_UP}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/tune.pc.in ${CMAKE_BINARY_DIR}/tune.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tune.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET tune AND NOT TARGET tune::tune)
  add_executable(tune::tune ALIAS tune)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/TuneKernels.cmake)
