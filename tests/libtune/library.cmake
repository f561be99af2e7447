# SPDX-License-Identifier: MIT
# libtune as an application has it, beside the rooms that write logs for it.
if(TARGET libtune_shared)
  tune_test(test_libtune SOURCES test_libtune.c sample_log.c reference.c LINK libtune_shared choice devices
    package::opencl LABELS unit opencl TIMEOUT 300)
  tune_test(test_locale SOURCES test_locale.c sample_log.c LINK libtune_shared choice devices package::opencl
    LABELS unit opencl TIMEOUT 300)
  tune_test(test_tune_sized SOURCES test_tune_sized.c ../../libtune/tune_sized.c ../../libtune/tune_words.c LINK choice LABELS unit)
  tune_test(test_tune_open SOURCES test_tune_open.c sample_layer.c $<TARGET_OBJECTS:libtune_objects>
    LINK choice plan_of exec_cl exec_cu devices kernels search_space logs program core LABELS unit)
  add_executable(libtune_app ${CMAKE_SOURCE_DIR}/examples/libtune_app/main.c)
  target_link_libraries(libtune_app PRIVATE libtune_shared package::opencl m)
  if(TARGET tune AND TARGET tune-agent AND TARGET tune-tracker)
    add_test(NAME farm_missing COMMAND sh ${CMAKE_SOURCE_DIR}/tests/farm/missing.sh $<TARGET_FILE_DIR:tune>
      $<TARGET_FILE:libtune_app>)
    set_tests_properties(farm_missing PROPERTIES LABELS opencl TIMEOUT 600)
  endif()
  add_executable(write_sample_log write_sample_log.c sample_log.c)
  target_link_libraries(write_sample_log PRIVATE choice devices package::opencl)
  if(NOT TUNE_COVERAGE) # whose libtune.a wants gcov's library
    add_test(NAME test_libtune_installed COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_installed.sh ${CMAKE_BINARY_DIR}
    ${CMAKE_SOURCE_DIR}/examples/libtune_app $<TARGET_FILE:write_sample_log>)
    set_tests_properties(test_libtune_installed PROPERTIES LABELS opencl TIMEOUT 300 SKIP_RETURN_CODE 77)
  endif()
  if(NOT TUNE_SANITIZE AND NOT TUNE_COVERAGE) # their libraries bring names of their own
    add_test(NAME test_libtune_library COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_library.sh
      $<TARGET_FILE:libtune_shared> ${CMAKE_BINARY_DIR}/libtune/libtune.a ${CMAKE_SOURCE_DIR}/libtune/tune.h)
    set_tests_properties(test_libtune_library PROPERTIES LABELS unit TIMEOUT 120)
  endif()
  if(TARGET emulated_cuda)
    tune_test(test_libtune_cuda SOURCES test_libtune_cuda.c sample_log.c reference.c ../cuda/emulated.c
      LINK libtune_shared choice devices LABELS unit cuda TIMEOUT 120)
    add_dependencies(test_libtune_cuda emulated_cuda emulated_nvrtc)
    # `cuda`: the runtime's table of calls has the same name
    target_compile_definitions(test_libtune_cuda PRIVATE cuda=emulated_calls EMULATED_CUDA="$<TARGET_FILE:emulated_cuda>"
      EMULATED_NVRTC_PATH="$<TARGET_FILE:emulated_nvrtc>")
  endif()
endif()
