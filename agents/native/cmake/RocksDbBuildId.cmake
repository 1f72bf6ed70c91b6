# Calls across the border by headers of another version would corrupt the host. The library's SONAME has its version.
function(adocd_rocksdb_check_headers library)
  find_program(READELF NAMES readelf REQUIRED)
  execute_process(COMMAND ${READELF} -d ${library} OUTPUT_VARIABLE dynamic ERROR_QUIET)
  find_path(ROCKSDB_INCLUDE rocksdb/version.h)
  if(NOT dynamic MATCHES "SONAME.*librocksdb\\.so\\.([0-9]+)\\.([0-9]+)" OR NOT ROCKSDB_INCLUDE)
    return()
  endif()
  set(of_library ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
  file(STRINGS ${ROCKSDB_INCLUDE}/rocksdb/version.h numbers REGEX "define ROCKSDB_(MAJOR|MINOR) ")
  string(REGEX REPLACE "[^0-9;]" "" numbers "${numbers}")
  string(REPLACE ";" "." of_headers "${numbers}")
  if(NOT of_library VERSION_EQUAL of_headers)
    # The space keeps cmake from breaking the line, which `adocd agent build` shows.
    message(FATAL_ERROR " error: ${library} is RocksDB ${of_library}, but the headers in ${ROCKSDB_INCLUDE} are of "
      "${of_headers}; install those that belong to the library")
  endif()
endfunction()

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

# Whether the library was compiled with the assertion that src/rate_requests.h is about, in its older or newer words.
# Override with -DADOCD_ROCKSDB_ASSERTS_BURST=0|1 along with the build id.
function(adocd_rocksdb_asserts_burst library result)
  if(NOT "${${result}}" STREQUAL "")
    return()
  endif()
  file(STRINGS ${library} found LIMIT_COUNT 1 REGEX "bytes <= (refill_bytes_per_period_|GetSingleBurstBytes\\(\\))")
  if(found)
    set(${result} 1 PARENT_SCOPE)
  else()
    set(${result} 0 PARENT_SCOPE)
  endif()
endfunction()
