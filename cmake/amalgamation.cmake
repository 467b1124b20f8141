# SPDX-License-Identifier: MIT
# The target `amalgamation`: the library as amalgamation/pawl.c and pawl.h in the build directory, and the wheel alone
# as pawl_wheel.c and pawl_wheel.h.
set(PAWL_AMALGAMATION_DIR ${PROJECT_BINARY_DIR}/amalgamation)
add_custom_target(amalgamation)

# The private headers have no list: the script finds them by the #include lines.
file(GLOB_RECURSE private_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.h)

# pawl_amalgamate(NAME FILE...): NAME.c and NAME.h of these public headers and sources.
function(pawl_amalgamate name)
  set(made ${PAWL_AMALGAMATION_DIR}/${name}.c ${PAWL_AMALGAMATION_DIR}/${name}.h)
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/amalgamate ${PAWL_AMALGAMATION_DIR} ${name} ${ARGN}
    DEPENDS ${PROJECT_SOURCE_DIR}/scripts/amalgamate ${ARGN} ${private_headers}
    VERBATIM)
  add_custom_target(amalgamation_${name} DEPENDS ${made})
  add_dependencies(amalgamation amalgamation_${name})
endfunction()

pawl_amalgamate(pawl_wheel ${PROJECT_SOURCE_DIR}/include/pawl/wheel.h ${PAWL_WHEEL_SOURCES})
if(NOT PAWL_WHEEL_ONLY)
  get_target_property(sources pawl SOURCES)
  pawl_amalgamate(pawl ${PAWL_HEADERS} ${sources})
endif()
