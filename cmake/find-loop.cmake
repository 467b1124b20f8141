# SPDX-License-Identifier: MIT
# pawl_find_loop(NAME HEADER LIBRARY): the target pawl::loop_NAME is the event loop's own library, if it is here.
# Used by pawl's build and, from where pawl is installed, by its CMake package.
function(pawl_find_loop name header library)
  find_path(PAWL_${name}_INCLUDE_DIR ${header})
  find_library(PAWL_${name}_LIBRARY ${library})
  mark_as_advanced(PAWL_${name}_INCLUDE_DIR PAWL_${name}_LIBRARY)
  if(TARGET pawl::loop_${name} OR NOT PAWL_${name}_INCLUDE_DIR OR NOT PAWL_${name}_LIBRARY)
    return()
  endif()
  add_library(pawl::loop_${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(pawl::loop_${name} PROPERTIES
    IMPORTED_LOCATION ${PAWL_${name}_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${PAWL_${name}_INCLUDE_DIR})
endfunction()

function(pawl_find_libuv)
  pawl_find_loop(libuv uv.h uv)
endfunction()

function(pawl_find_libevent)
  pawl_find_loop(libevent event2/event.h event_core)
endfunction()
