# SPDX-License-Identifier: MIT
# libtune, the library that applications link: libtune.so and libtune.a. Both show the functions of tune.h and nothing
# else: the .so by a version script, the .a because it is one object whose other names were made local.
set(LIBTUNE_VERSION ${PROJECT_VERSION})
set(LIBTUNE_SOVERSION 1) # of the binary interface; scripts/check_abi.sh says when to raise it. 0: version 0.1
set(LIBTUNE_ROOMS choice plan_of exec_cl exec_cu devices kernels search_space logs program core)

add_library(libtune_objects OBJECT tune_call.c tune_cl.c tune_cuda.c tune_locale.c tune_missing.c tune_network.c tune_network_read.c tune_open.c tune_plan.c tune_sized.c
  tune_words.c)
target_link_libraries(libtune_objects PUBLIC ${LIBTUNE_ROOMS})

# The public names are those that tune.h declares with TUNE_API.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tune.h)
file(STRINGS tune.h declared REGEX "^TUNE_API ")
set(LIBTUNE_NAMES)
foreach(line IN LISTS declared)
  if(line MATCHES "[ *](tune_[a-z0-9_]+)\\(")
    list(APPEND LIBTUNE_NAMES ${CMAKE_MATCH_1})
  endif()
endforeach()
list(LENGTH LIBTUNE_NAMES n_names)
if(n_names EQUAL 0)
  message(FATAL_ERROR "libtune/tune.h declares no function with TUNE_API")
endif()
string(REPLACE ";" "\n" lines "${LIBTUNE_NAMES}")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/names.txt CONTENT "@lines@\n" @ONLY)
string(REPLACE ";" "; " listed "${LIBTUNE_NAMES}")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/names.map CONTENT
  "LIBTUNE_@LIBTUNE_SOVERSION@ { global: @listed@; local: *; };\n" @ONLY)

# ---- shared ----
add_library(libtune_shared SHARED $<TARGET_OBJECTS:libtune_objects>)
target_link_libraries(libtune_shared PRIVATE ${LIBTUNE_ROOMS})
target_include_directories(libtune_shared INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_options(libtune_shared PRIVATE -Wl,--as-needed -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/names.map)
if(NOT TUNE_SANITIZE)
  target_link_options(libtune_shared PRIVATE -Wl,-z,defs)
endif()
set_target_properties(libtune_shared PROPERTIES OUTPUT_NAME tune VERSION ${LIBTUNE_VERSION} SOVERSION ${LIBTUNE_SOVERSION}
  LINK_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/names.map)

# ---- static: all in one object, then all names local but the public ones ----
set(archives)
foreach(room IN LISTS LIBTUNE_ROOMS)
  list(APPEND archives $<TARGET_FILE:${room}>)
endforeach()
set(partial -r -nostdlib)
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION) # what is left to the link must be done here
  list(APPEND partial -O2 -flto -flinker-output=nolto-rel)
endif()
set(STATIC_LIB ${CMAKE_CURRENT_BINARY_DIR}/libtune.a)
add_custom_command(OUTPUT ${STATIC_LIB}
  COMMAND ${CMAKE_C_COMPILER} ${partial} -o libtune_all.o $<TARGET_OBJECTS:libtune_objects> -Wl,--start-group ${archives} -Wl,--end-group
  COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${CMAKE_CURRENT_BINARY_DIR}/names.txt libtune_all.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${STATIC_LIB}
  COMMAND ${CMAKE_AR} rcs ${STATIC_LIB} libtune_all.o
  DEPENDS libtune_objects $<TARGET_OBJECTS:libtune_objects> ${LIBTUNE_ROOMS} ${CMAKE_CURRENT_BINARY_DIR}/names.txt
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(libtune_static ALL DEPENDS ${STATIC_LIB})

# ---- for those who link it ----
set(LIBTUNE_PRIVATE "-lcjson -lmbedcrypto -ldl -lm -pthread") # what libtune.a needs beside itself
file(RELATIVE_PATH LIBTUNE_PC_UP /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x) # the installed tree may be moved
file(RELATIVE_PATH LIBTUNE_CMAKE_UP /x/${CMAKE_INSTALL_LIBDIR}/cmake/libtune /x)
configure_file(libtune.pc.in libtune.pc @ONLY)
configure_file(libtuneConfig.cmake.in libtuneConfig.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/libtuneConfigVersion.cmake
  VERSION ${LIBTUNE_VERSION} COMPATIBILITY SameMinorVersion)

install(TARGETS libtune_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libtune
  NAMELINK_COMPONENT libtune)
install(FILES ${STATIC_LIB} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libtune)
install(FILES tune.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libtune)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libtune.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libtune)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libtuneConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/libtuneConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/libtune COMPONENT libtune)
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/libtune.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT libtune)
