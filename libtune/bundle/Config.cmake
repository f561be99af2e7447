# SPDX-License-Identifier: MIT
# find_package(NAME): the installed library, or, beside the bundle's sources, the bundle built as a part of the project.
if(NOT NAME_CUDA)
  include(CMakeFindDependencyMacro)
  find_dependency(OpenCL)
endif()
if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/NAMETargets.cmake")
  include("${CMAKE_CURRENT_LIST_DIR}/NAMETargets.cmake")
elseif(NOT TARGET NAME)
  add_subdirectory("${CMAKE_CURRENT_LIST_DIR}" "${CMAKE_BINARY_DIR}/NAME" EXCLUDE_FROM_ALL)
endif()
