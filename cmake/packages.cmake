# Debian packages, libservicekit1 and libservicekit-dev, and an archive of both:
#   cmake --preset package && cmake --build --preset package && (cd build/package && cpack)
# Two builds of one commit are identical where SOURCE_DATE_EPOCH is set.
set(soname "libservicekit${PROJECT_VERSION_MAJOR}")
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME servicekit)
set(CPACK_PACKAGE_VENDOR "ServiceKit contributors")
set(CPACK_PACKAGE_CONTACT "ServiceKit contributors <maintainers@servicekit.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${soname})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
# By hand: where CPack looks at libraries itself, it adds scripts that Debian has given up. library.shared tests it.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6 (>= 2.34)")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/debian/shlibs" "${PROJECT_BINARY_DIR}/debian/triggers")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libservicekit-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${soname} (= ${PROJECT_VERSION})")
set(about "A container that builds services from registered factories and keeps
them in scopes, and services with a state that others observe. For C,
C++ and every language that can call C; it needs libc and nothing else.
.
")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "${about}This is the shared library.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "${about}These are the headers, the manual, the static library and the CMake\npackage.")

# What Debian wants in /usr/share/doc. With a file's own time, so that two builds are the same.
set(debian "${PROJECT_BINARY_DIR}/debian")
file(READ "${PROJECT_SOURCE_DIR}/LICENSE" license)
string(REGEX REPLACE "^[^\n]*\n+[^\n]*\n+" "" license "${license}")
string(REGEX REPLACE "\n\n" "\n.\n" license "${license}")
string(STRIP "${license}" license)
string(REPLACE "\n" "\n " license "${license}")
file(CONFIGURE OUTPUT "${debian}/copyright" @ONLY CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ServiceKit

Files: *
Copyright: 2026 ServiceKit contributors
License: Expat
 @license@
")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT "${debian}/changelog" @ONLY CONTENT
"servicekit (@PROJECT_VERSION@) unstable; urgency=medium

  * See the changelog of the project.

 -- @CPACK_PACKAGE_CONTACT@  @date@
")
file(WRITE "${debian}/shlibs" "libservicekit ${PROJECT_VERSION_MAJOR} ${soname} (>= ${PROJECT_VERSION})\n")
file(WRITE "${debian}/triggers" "activate-noawait ldconfig\n")
file(CHMOD "${debian}/shlibs" "${debian}/triggers" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
find_program(SERVICEKIT_GZIP gzip)
if(SERVICEKIT_GZIP)
  execute_process(COMMAND "${SERVICEKIT_GZIP}" -9nf "${debian}/changelog")
  foreach(pair "runtime ${soname}" "development libservicekit-dev")
    separate_arguments(pair)
    list(GET pair 0 component)
    list(GET pair 1 package)
    install(FILES "${debian}/copyright" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${component}
      EXCLUDE_FROM_ALL)
    install(FILES "${debian}/changelog.gz" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}"
      COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
endif()
include(CPack)
