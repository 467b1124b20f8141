# SPDX-License-Identifier: MIT
# The functions that every room uses to add its tests.

# Some tests of the library are written in Python. Where there is no python3, PAWL_ONLY_C_TESTS leaves them out.
find_program(PAWL_PYTHON3 python3)

# pawl_test(NAME SOURCE...): the program test_NAME (dots become underscores), which ctest calls NAME.
function(pawl_test name)
  string(REPLACE . _ target test_${name})
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE pawl pawl_flags)
  add_test(NAME ${name} COMMAND ${target})
endfunction()

# The limit only ends tests that hang. A test takes less than a minute on a quiet machine, but may take many times that
# on a slow or busy one.
set(PAWL_HANG_SECONDS 3600 CACHE STRING "seconds after which a test is considered hung")

# Sets the limit for all tests that this directory has so far.
function(pawl_limit_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  set_tests_properties(${tests} PROPERTIES TIMEOUT ${PAWL_HANG_SECONDS})
endfunction()

# Sets VARIABLE to the sanitizer's library, which a program without the sanitizer must preload if it loads a module with
# it; otherwise to nothing.
function(pawl_preload variable)
  set(library "")
  if(PAWL_SANITIZE MATCHES address)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so
      OUTPUT_VARIABLE library OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  set(${variable} "${library}" PARENT_SCOPE)
endfunction()

# Labels all tests that this directory has so far: `make test` leaves them to `make test-all`.
function(pawl_long_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  set_tests_properties(${tests} PROPERTIES LABELS long)
endfunction()

# pawl_test_with_files(NAME TARGET): the test NAME runs the program in a directory of its own, empty at the beginning.
function(pawl_test_with_files name target)
  add_test(NAME ${name} COMMAND sh -c "rm -rf \"$1\" && mkdir \"$1\" && cd \"$1\" && exec \"$2\""
    sh ${CMAKE_CURRENT_BINARY_DIR}/files-${name} $<TARGET_FILE:${target}>)
endfunction()

# pawl_header_test(NAME HEADER LIBRARY OUTPUT [WITH_FILES]): the test header.NAME runs the program in the comments of a
# public header. Its output must match the regular expression OUTPUT. WITH_FILES: it writes files.
function(pawl_header_test name header library output)
  if(PAWL_ONLY_C_TESTS AND NOT PAWL_PYTHON3)
    return()
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/header_${name}.c)
  add_custom_command(OUTPUT ${source}
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/header-examples ${header} ${source}
    DEPENDS ${header} ${PROJECT_SOURCE_DIR}/scripts/header-examples
    VERBATIM)
  add_executable(test_header_${name} ${source})
  target_link_libraries(test_header_${name} PRIVATE ${library} pawl_flags)
  if(ARGN STREQUAL WITH_FILES)
    pawl_test_with_files(header.${name} test_header_${name})
  else()
    add_test(NAME header.${name} COMMAND test_header_${name})
  endif()
  set_tests_properties(header.${name} PROPERTIES PASS_REGULAR_EXPRESSION ${output})
endfunction()

# pawl_plain_test(TOPIC SOURCE... [ARGS ARGUMENT...]): the test plain-wheel.TOPIC, with the wheel in plain C, as
# compilers other than gcc and clang get it: see src/wheel/compiler.h.
function(pawl_plain_test topic)
  cmake_parse_arguments(PARSE_ARGV 1 plain "" "" ARGS)
  string(REPLACE . _ target test_plain_wheel_${topic})
  add_executable(${target} ${plain_UNPARSED_ARGUMENTS})
  target_link_libraries(${target} PRIVATE plain_wheel pawl_flags)
  add_test(NAME plain-wheel.${topic} COMMAND ${target} ${plain_ARGS})
endfunction()

# Programs in C++ often have them on, and the compiler does not exempt a library's macros.
set(PAWL_CXX_WARNINGS -Winvalid-offsetof -Wold-style-cast -Wcast-align -Wnon-virtual-dtor -Wzero-as-null-pointer-constant)

# The public headers in a program of one C++ standard.
function(pawl_cxx_test name standard)
  pawl_test(${name} wheel/test_header_cxx.cpp)
  string(REPLACE . _ target test_${name})
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE ${PAWL_CXX_WARNINGS})
endfunction()
