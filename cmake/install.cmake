# SPDX-License-Identifier: MIT
# The files by which programs find an installed pawl: the CMake package and the pkg-config files.
include(CMakePackageConfigHelpers)
set(PAWL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)

# pawl_install_pkgconfig(NAME DESCRIPTION REQUIRES PRIVATE): NAME.pc for libNAME, which needs PRIVATE if it is linked
# statically. The file is written when it is installed, since only then is the prefix certain: `cmake --install
# --prefix` may give another one.
function(pawl_install_pkgconfig name description requires private)
  cmake_path(APPEND libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
  cmake_path(APPEND includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
  set(prefix @CMAKE_INSTALL_PREFIX@)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/pkgconfig.in ${PROJECT_BINARY_DIR}/${name}.pc.in @ONLY)
  install(CODE "configure_file(\"${PROJECT_BINARY_DIR}/${name}.pc.in\" \"${PROJECT_BINARY_DIR}/${name}.pc\" @ONLY)")
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# pawl_install_man(PAGE HEADER...): docs/man/PAGE.3, and a page that refers to it for each of these headers and for each
# function that they declare, so that `man pawl_epoll` and `man pawl_service_arm` find it.
function(pawl_install_man page)
  install(FILES ${PROJECT_SOURCE_DIR}/docs/man/${page}.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
  foreach(header IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    string(REGEX MATCHALL "\nPAWL_API [^;(]*[(]" declarations "${text}")
    cmake_path(GET header STEM stem)
    set(names pawl_${stem})
    foreach(declaration IN LISTS declarations)
      string(REGEX REPLACE ".*[ *]([a-z0-9_]+)[(]" "\\1" name "${declaration}")
      list(APPEND names ${name})
    endforeach()
    list(REMOVE_ITEM names ${page} pawl_pawl)
    foreach(name IN LISTS names)
      file(WRITE ${PROJECT_BINARY_DIR}/man3/${name}.3 ".so man3/${page}.3\n")
      install(FILES ${PROJECT_BINARY_DIR}/man3/${name}.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
    endforeach()
  endforeach()
endfunction()

function(pawl_install_targets export)
  install(EXPORT ${export} NAMESPACE pawl:: DESTINATION ${PAWL_CMAKE_DIR} FILE ${export}-targets.cmake)
endfunction()

function(pawl_install_package)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pawl-config.cmake.in
    ${PROJECT_BINARY_DIR}/pawl-config.cmake INSTALL_DESTINATION ${PAWL_CMAKE_DIR}
    NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/pawl-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/pawl-config.cmake ${PROJECT_BINARY_DIR}/pawl-config-version.cmake
    ${PROJECT_SOURCE_DIR}/cmake/find-loop.cmake DESTINATION ${PAWL_CMAKE_DIR})
  pawl_install_targets(pawl)
  if(PAWL_WHEEL_ONLY)
    set(description "Delayed work: timing wheel")
  else()
    set(description "Delayed work: timing wheel and timers for many threads")
  endif()
  pawl_install_pkgconfig(pawl "${description}" "" "${PAWL_NEEDS_FLAGS}")
  if(PAWL_DEBUG)
    pawl_install_pkgconfig(pawl-debug "${description}; the library that answers mistakes" "" "${PAWL_NEEDS_FLAGS}")
  endif()
endfunction()
