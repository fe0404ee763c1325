# Headers, libraries, servicekit.pc and the CMake package, all relative to one another.
include(CMakePackageConfigHelpers)

install(TARGETS ${libraries} EXPORT ServiceKitTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
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
