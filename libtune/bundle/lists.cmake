# SPDX-License-Identifier: MIT

# Use it in three ways: add_subdirectory() this folder; or install it and find_package(NAME); or install it and
# pkg-config NAME. (find_package with NAME_DIR pointing at this folder builds it as a part of your project.)
# Link NAME::NAME; NAME::vectors has test vectors and is for tests.
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  set(NAME_alone ON)
else()
  set(NAME_alone OFF)
endif()
option(NAME_VECTORS "Build and install the test vectors too" ${NAME_alone})
option(NAME_INSTALL "Install headers, library, CMake package and pkg-config file" ${NAME_alone})
if(NAME_alone AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(NAME NAME.c)
add_library(NAME::NAME ALIAS NAME)
if(NAME_CUDA) # the driver is loaded at run time
  target_link_libraries(NAME PUBLIC ${CMAKE_DL_LIBS})
  set(NAME_libs -ldl)
else()
  find_package(OpenCL REQUIRED)
  target_link_libraries(NAME PUBLIC OpenCL::OpenCL)
  set(NAME_libs -lOpenCL)
endif()
set(NAME_targets NAME)

add_library(NAME_vectors STATIC NAME_vectors.c)
add_library(NAME::vectors ALIAS NAME_vectors)
target_link_libraries(NAME_vectors PUBLIC NAME)
if(UNIX)
  target_link_libraries(NAME_vectors PUBLIC m)
endif()
if(NAME_VECTORS)
  list(APPEND NAME_targets NAME_vectors)
else()
  set_target_properties(NAME_vectors PROPERTIES EXCLUDE_FROM_ALL ON)
endif()

include(GNUInstallDirs)
foreach(NAME_target NAME NAME_vectors)
  target_include_directories(${NAME_target} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>
                                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${NAME_target} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
endforeach()
set_target_properties(NAME_vectors PROPERTIES EXPORT_NAME vectors)

if(NAME_INSTALL)
  include(CMakePackageConfigHelpers)
  install(TARGETS ${NAME_targets} EXPORT NAMETargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES NAME.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  if(NAME_VECTORS)
    install(FILES NAME_vectors.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endif()
  install(FILES manifest.json LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/NAME)
  install(EXPORT NAMETargets NAMESPACE NAME:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/NAME)
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/NAMEConfigVersion.cmake VERSION ${PROJECT_VERSION}
                                   COMPATIBILITY SameMajorVersion)
  install(FILES NAMEConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/NAMEConfigVersion.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/NAME)
  file(RELATIVE_PATH NAME_up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(NAME.pc.in NAME.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/NAME.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
