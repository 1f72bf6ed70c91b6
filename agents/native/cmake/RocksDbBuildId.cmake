# The agent works only with the very librocksdb it was built for: it calls C++ across the border and knows its
# private layout of virtual tables. Override with -DADOCD_ROCKSDB_BUILD_ID=<hex> when building on another machine.
function(adocd_rocksdb_build_id library result)
  if(NOT "${${result}}" STREQUAL "")
    return()
  endif()
  find_program(READELF NAMES readelf REQUIRED)
  execute_process(COMMAND ${READELF} -n ${library} OUTPUT_VARIABLE notes ERROR_QUIET)
  if(NOT notes MATCHES "Build ID: ([0-9a-f]+)")
    message(FATAL_ERROR "${library} has no GNU build id; give -DADOCD_ROCKSDB_BUILD_ID=<hex>")
  endif()
  set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()
