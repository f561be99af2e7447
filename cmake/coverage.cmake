# SPDX-License-Identifier: MIT
# For TUNE_COVERAGE (scripts/coverage.sh): gcc's counts of what is executed, and a hook in each program that saves them at other ends than exit().
add_library(coverage_hook STATIC tests/coverage/hook.c)
add_compile_options(--coverage -fprofile-update=atomic)
add_link_options(--coverage
  $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-Wl,--wrap=_exit,--wrap=execve,--wrap=kill,-u,coverage_hook>)
link_libraries(coverage_hook)
