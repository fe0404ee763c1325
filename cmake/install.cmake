# Headers, libraries, servicekit.pc, the CMake package and the manual, all relative to one another. The component
# "runtime" is the library itself; "development" is all else.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

install(TARGETS ${libraries} EXPORT ServiceKitTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "servicekit.h*")
install(FILES "${PROJECT_SOURCE_DIR}/abi.json" DESTINATION "${CMAKE_INSTALL_DATADIR}/servicekit")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ServiceKit")
install(EXPORT ServiceKitTargets NAMESPACE ServiceKit:: DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/ServiceKitConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/ServiceKitConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ServiceKitConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ServiceKitConfig.cmake" "${PROJECT_BINARY_DIR}/ServiceKitConfigVersion.cmake"
  DESTINATION "${package_dir}")

file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
file(RELATIVE_PATH pc_includedir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/servicekit.pc.in" "${PROJECT_BINARY_DIR}/servicekit.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/servicekit.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# The manual: a page a function, out of the header's comments.
find_program(SERVICEKIT_PYTHON python3)
if(SERVICEKIT_PYTHON)
  set(manual "${PROJECT_BINARY_DIR}/man")
  set(generators "${PROJECT_SOURCE_DIR}/cmake/manpages.py" "${PROJECT_SOURCE_DIR}/cmake/abi.py")
  add_custom_command(OUTPUT "${manual}/servicekit.3.gz"
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${manual}"
    COMMAND "${CMAKE_COMMAND}" -E env PYTHONDONTWRITEBYTECODE=1 "${SERVICEKIT_PYTHON}"
      "${PROJECT_SOURCE_DIR}/cmake/manpages.py" "${manual}"
    DEPENDS "${header}" ${generators}
    COMMENT "Writing the manual"
    VERBATIM)
  add_custom_target(manual ALL DEPENDS "${manual}/servicekit.3.gz")
  install(DIRECTORY "${manual}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man3" OPTIONAL)
endif()
