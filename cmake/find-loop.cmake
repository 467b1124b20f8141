# SPDX-License-Identifier: MIT
# pawl_find_loop(NAME HEADER LIBRARY): the target pawl::loop_NAME is the event loop's own library, if it is here.
# Used by pawl's build and, from where pawl is installed, by its CMake package.
function(pawl_find_loop name header library)
  find_path(PAWL_${name}_INCLUDE_DIR ${header} PATH_SUFFIXES ${name})
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

# A kqueue is the system's: there is a header, and nothing to link with. On Linux it is libkqueue's.
function(pawl_find_kqueue)
  if(CMAKE_SYSTEM_NAME MATCHES "^(Linux|Android)$")
    pawl_find_loop(kqueue sys/event.h kqueue)
    return()
  endif()
  include(CheckIncludeFiles)
  check_include_files("sys/types.h;sys/event.h" PAWL_HAVE_SYS_EVENT_H)
  if(PAWL_HAVE_SYS_EVENT_H AND NOT TARGET pawl::loop_kqueue)
    add_library(pawl::loop_kqueue INTERFACE IMPORTED GLOBAL)
  endif()
endfunction()

function(pawl_find_libuv)
  pawl_find_loop(libuv uv.h uv)
endfunction()

function(pawl_find_libevent)
  pawl_find_loop(libevent event2/event.h event_core)
endfunction()
