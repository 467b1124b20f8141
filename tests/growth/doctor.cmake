# SPDX-License-Identifier: MIT
# cmake -D FROM=include -D TO=DIRECTORY -D VERSION=older|newer -P doctor.cmake: copies the public headers as another
# version would have them. The older one lacks the last line of fields of each struct that a call fills in, and has one
# more reserved word in place of each last option. The newer one has one more field in each of these structs, and one
# more option in place of the first reserved word.
file(REMOVE_RECURSE ${TO})
file(COPY ${FROM}/pawl DESTINATION ${TO})

# change(HEADER STRUCT PATTERN REPLACEMENT): within the struct's definition; it must match.
function(change header struct pattern replacement)
  file(READ ${TO}/pawl/${header} text)
  string(FIND "${text}" "\nstruct ${struct} {\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${header} does not define struct ${struct}")
  endif()
  string(SUBSTRING "${text}" 0 ${begin} before)
  string(SUBSTRING "${text}" ${begin} -1 rest)
  string(FIND "${rest}" "\n};" end)
  string(SUBSTRING "${rest}" 0 ${end} body)
  string(SUBSTRING "${rest}" ${end} -1 after)
  string(REGEX REPLACE "${pattern}" "${replacement}" changed "${body}")
  if(changed STREQUAL body)
    message(FATAL_ERROR "struct ${struct} in ${header} has nothing like ${pattern}")
  endif()
  file(WRITE ${TO}/pawl/${header} "${before}${changed}${after}")
endfunction()

set(stats service.h:pawl_service_stats purgatory.h:pawl_purgatory_stats wheel.h:pawl_wheel_place
  store.h:pawl_store_stats)
set(options service.h:pawl_service_options purgatory.h:pawl_purgatory_options wheel.h:pawl_wheel_options
  loop.h:pawl_loop_options store.h:pawl_store_options)
foreach(place IN LISTS stats options)
  string(REPLACE ":" ";" place ${place})
  list(GET place 0 header)
  list(GET place 1 struct)
  if(struct MATCHES options AND VERSION STREQUAL older)
    change(${header} ${struct} "\n[^\n]*\n[^\n]*uint64_t reserved\\[4\\][^\n]*" "\n\tuint64_t reserved[5];")
  elseif(struct MATCHES options)
    change(${header} ${struct} "uint64_t reserved\\[4\\]" "uint64_t later; uint64_t reserved[3]")
  elseif(VERSION STREQUAL older)
    change(${header} ${struct} "\n[^\n]*$" "")
  else()
    change(${header} ${struct} "([^\n])$" "\\1\n\tuint64_t later;")
  endif()
endforeach()
