# SPDX-License-Identifier: MIT
# The target `amalgamation`: what the library is made of, as amalgamation/pawl.c and pawl.h in the build folder.
set(PAWL_AMALGAMATION_DIR ${PROJECT_BINARY_DIR}/amalgamation)
get_target_property(PAWL_ALL_SOURCES pawl SOURCES)

# The private headers have no list; what the sources include is found by the script.
file(GLOB_RECURSE private_headers CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/adapters/turn.h)
add_custom_command(
  OUTPUT ${PAWL_AMALGAMATION_DIR}/pawl.c ${PAWL_AMALGAMATION_DIR}/pawl.h
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/amalgamate ${PAWL_AMALGAMATION_DIR} ${PAWL_HEADERS} ${PAWL_ALL_SOURCES}
  DEPENDS ${PROJECT_SOURCE_DIR}/scripts/amalgamate ${PAWL_HEADERS} ${PAWL_ALL_SOURCES} ${private_headers}
  VERBATIM)
add_custom_target(amalgamation DEPENDS ${PAWL_AMALGAMATION_DIR}/pawl.c ${PAWL_AMALGAMATION_DIR}/pawl.h)
