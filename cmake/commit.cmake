# SPDX-License-Identifier: MIT
# commit.cmake - TUNE_COMMIT: twelve digits of the commit that is built: of a release tarball what `git archive` wrote into
# commit.txt, of a checkout what git says, asked again when it has moved; else "".
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt TUNE_COMMIT LIMIT_COUNT 1)
if(TUNE_COMMIT MATCHES "Format")
  set(TUNE_COMMIT "")
  find_package(Git QUIET)
  if(GIT_FOUND AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse HEAD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
      OUTPUT_VARIABLE TUNE_COMMIT ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
      OUTPUT_VARIABLE moves ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(moves "${moves}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
    if(EXISTS ${moves})
      set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${moves})
    endif()
  endif()
endif()
string(SUBSTRING "${TUNE_COMMIT}" 0 12 TUNE_COMMIT)
