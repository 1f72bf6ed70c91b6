# The Debian package of the agent, for hosts without a compiler; packaging/deb in the checkout runs it.
#
# The agent works with one exact build of librocksdb alone, so the package depends on exactly the package that has it,
# and names that one's version in its own: two packages of one adocd for two of librocksdb are told apart, and apt
# goes from one to the other together with librocksdb. The library is where the linker and LD_PRELOAD find it by its bare
# name, and that name has no version: units name it, and its two C functions (agent.h) stay.
set(here ${CMAKE_CURRENT_LIST_DIR})
find_program(DPKG_QUERY NAMES dpkg-query REQUIRED)
find_program(GZIP NAMES gzip REQUIRED)
get_filename_component(rocksdb_file ${ROCKSDB_LIBRARY} REALPATH)
execute_process(COMMAND ${DPKG_QUERY} --search ${rocksdb_file} OUTPUT_VARIABLE owner ERROR_QUIET)
if(NOT owner MATCHES "^([a-z0-9.+-]+)(:[a-z0-9-]+)?: ")
  message(FATAL_ERROR "${rocksdb_file} belongs to no Debian package, so a package of the agent could not depend on it")
endif()
set(rocksdb_package ${CMAKE_MATCH_1})
execute_process(
  COMMAND ${DPKG_QUERY} --show "--showformat=\${Version}" ${rocksdb_package}${CMAKE_MATCH_2}
  OUTPUT_VARIABLE rocksdb_version)
string(REGEX REPLACE "^[0-9]+:" "" rocksdb_version_without_epoch "${rocksdb_version}")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME adocd-agent-native)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The adocd authors <root@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "agent that lets adocd tune the RocksDB of a running program")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A shared library that is preloaded into an unmodified program which loads
librocksdb.so, or linked into one. It gives the program's databases the admin
protocol of adocd on a Unix socket in /run/adocd. With it installed, 'adocd
exec' needs no compiler.
.
This build works with version ${rocksdb_version} of ${rocksdb_package} alone; beside
another version it leaves the program as it is.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_VERSION "${PROJECT_VERSION}+rocksdb${rocksdb_version_without_epoch}")
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# passwd has useradd and userdel, for hosts without systemd.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${rocksdb_package} (= ${rocksdb_version}), passwd")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${here}/postinst ${here}/postrm ${here}/triggers)

# The names of those in examples/systemd, so that a file in /etc goes before them.
install(FILES ${here}/sysusers.conf DESTINATION lib/sysusers.d RENAME adocd.conf)
install(FILES ${here}/tmpfiles.conf DESTINATION lib/tmpfiles.d RENAME adocd.conf)
set(documentation share/doc/${CPACK_PACKAGE_NAME})
install(FILES ${here}/copyright ${CMAKE_CURRENT_SOURCE_DIR}/README.md DESTINATION ${documentation})
string(TIMESTAMP DEBIAN_CHANGELOG_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${here}/changelog.in changelog.Debian @ONLY)
set(changelogs ${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian)
set(changelog ${CMAKE_CURRENT_SOURCE_DIR}/../../CHANGELOG.md)
if(EXISTS ${changelog})  # the wheel has none
  configure_file(${changelog} changelog COPYONLY)
  list(APPEND changelogs ${CMAKE_CURRENT_BINARY_DIR}/changelog)
endif()
foreach(changelog ${changelogs})
  execute_process(COMMAND ${GZIP} -9nc ${changelog} OUTPUT_FILE ${changelog}.gz)
  install(FILES ${changelog}.gz DESTINATION ${documentation})
endforeach()
# Not the unit tests: packaging/deb has built the library.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
include(CPack)
