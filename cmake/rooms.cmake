# SPDX-License-Identifier: MIT
# tune_room(name SOURCES ... LINK ...): a static library of one room.
function(tune_room name)
  cmake_parse_arguments(R "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${R_SOURCES})
  target_link_libraries(${name} PUBLIC ${R_LINK})
endfunction()

# tune_test(name SOURCES ... LINK ... LABELS ... [TIMEOUT s]): a cmocka test, one process.
function(tune_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LINK} package::cmocka)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>) # of its own sources: they are half of all there is to compile
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300) # against hangs; busy machines are slow
  endif()
  if(TUNE_COVERAGE) # nothing is optimised, everything counted
    math(EXPR T_TIMEOUT "${T_TIMEOUT} * 10")
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()

# tune_bench(name SOURCES ... LINK ... [SMOKE words...] [TIMEOUT s]): a program that measures. Benches are built by the target
# `benches`, not by `all`: peers that they are linked with are no part of tune. SMOKE: ctest runs this command on something tiny
# (label bench, behind a test that builds them).
function(tune_bench name)
  cmake_parse_arguments(B "" "TIMEOUT" "SOURCES;LINK;SMOKE" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${B_SOURCES})
  target_link_libraries(${name} PRIVATE ${B_LINK})
  add_dependencies(benches ${name})
  if(B_SMOKE)
    tune_smoke(${name} COMMAND ${B_SMOKE} TIMEOUT ${B_TIMEOUT})
  endif()
endfunction()

# tune_smoke(name COMMAND words... [TIMEOUT s]): a test of the label bench; exit 77 skips.
function(tune_smoke name)
  cmake_parse_arguments(S "" "TIMEOUT" "COMMAND" ${ARGN})
  if(NOT S_TIMEOUT)
    set(S_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${S_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS bench TIMEOUT ${S_TIMEOUT} SKIP_RETURN_CODE 77
    FIXTURES_REQUIRED benches)
endfunction()

# tune_fuzz(name SOURCES ... LINK ... [RUNS n] [TIMEOUT s]): a fuzzer, tests/fuzz/fuzz.h, with two tests: its corpus, corpus/NAME beside it
# (label unit), and n inputs made of it (label fuzz). libFuzzer drives it with TUNE_FUZZ, else tests/fuzz/driver.c.
function(tune_fuzz name)
  cmake_parse_arguments(F "" "RUNS;TIMEOUT" "SOURCES;LINK" ${ARGN})
  set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  add_executable(${name} ${F_SOURCES})
  target_link_libraries(${name} PRIVATE ${F_LINK} fuzzer core)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set_property(GLOBAL APPEND PROPERTY TUNE_FUZZERS ${name})
  if(TUNE_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  if(NOT F_RUNS)
    set(F_RUNS 20000)
  endif()
  if(NOT F_TIMEOUT)
    set(F_TIMEOUT 120)
  endif()
  add_test(NAME ${name}_corpus COMMAND ${name} ${corpus})
  set_tests_properties(${name}_corpus PROPERTIES LABELS unit TIMEOUT 60)
  add_test(NAME ${name} COMMAND ${name} -runs=${F_RUNS} ${corpus})
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT ${F_TIMEOUT})
endfunction()

# tune_pages(program): its man pages, written by itself (--man-pages) when it is built, and the shell's completion. Where what is built
# does not run here (cross builds without an emulator) there are no pages.
function(tune_pages program)
  install(FILES ${CMAKE_SOURCE_DIR}/share/completion/tune.bash RENAME ${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    return()
  endif()
  set(pages ${CMAKE_CURRENT_BINARY_DIR}/man)
  file(MAKE_DIRECTORY ${pages})
  add_custom_command(OUTPUT ${pages}.made DEPENDS ${program}
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
    COMMAND ${program} --man-pages ${pages}
    COMMAND ${CMAKE_COMMAND} -E touch ${pages}.made)
  add_custom_target(${program}-pages ALL DEPENDS ${pages}.made)
  install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR})
endfunction()
