# libservicekit.so.1 and libservicekit.a: all of the engine and of its C face as one Embedded Swift object, which needs
# libc and nothing else. CMake's own Swift support is of no use here: it works with Ninja only, and links the runtime.

file(GLOB_RECURSE swift_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/Sources/ServiceKitCore/*.swift" "${PROJECT_SOURCE_DIR}/Sources/ServiceKitABI/*.swift")
set(object_dir "${PROJECT_BINARY_DIR}/embedded/objects-$<CONFIG>")
set(object "${object_dir}/servicekit.o")
separate_arguments(extra_flags UNIX_COMMAND "${SERVICEKIT_SWIFT_FLAGS}")

# swiftc knows no -sanitize=undefined: Swift checks arithmetic and bounds by itself. The C code is what that one is for.
string(REPLACE "," ";" sanitizers "${SERVICEKIT_SANITIZE}")
set(swift_sanitize ${sanitizers})
list(REMOVE_ITEM swift_sanitize undefined)
list(TRANSFORM swift_sanitize PREPEND -sanitize=)

# Sanitizers name the line.
set(debug_info "$<OR:$<CONFIG:Debug,RelWithDebInfo>,$<BOOL:${swift_sanitize}>>")
add_custom_command(OUTPUT "${object}"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${object_dir}"
  COMMAND "${SERVICEKIT_SWIFTC}" -c -o "${object}"
    -module-name ServiceKitABI -package-name servicekit -wmo -parse-as-library -swift-version 6 -warnings-as-errors
    -enable-experimental-feature Embedded
    "$<IF:$<CONFIG:Debug>,-Onone,$<IF:$<CONFIG:MinSizeRel>,-Osize,-O>>" "$<${debug_info}:-g>"
    -Xfrontend -function-sections
    -I "${PROJECT_SOURCE_DIR}/include" -I "${PROJECT_SOURCE_DIR}/Sources/CPlatform" -Xcc -fPIC
    -module-cache-path "${PROJECT_BINARY_DIR}/embedded/modules"
    ${swift_sanitize} ${extra_flags} ${swift_sources}
  # The compiler's note of what it compiled, by which it would know the file again, depends on the directory.
  COMMAND "${CMAKE_OBJCOPY}" --remove-section=.swift_modhash "${object}"
  DEPENDS ${swift_sources} "${header}" "${PROJECT_SOURCE_DIR}/include/module.modulemap"
    "${PROJECT_SOURCE_DIR}/Sources/CPlatform/platform.h" "${PROJECT_SOURCE_DIR}/Sources/CPlatform/module.modulemap"
  COMMENT "Compiling the engine and its C face (Embedded Swift)"
  COMMAND_EXPAND_LISTS VERBATIM)

set(exports "${PROJECT_BINARY_DIR}/exports.txt")
set(version_script "${PROJECT_BINARY_DIR}/servicekit.map")
add_custom_command(OUTPUT "${exports}" "${version_script}"
  COMMAND "${CMAKE_COMMAND}" -D "CLANG=${SERVICEKIT_CLANG}" -D "HEADER=${header}" -D "LIST=${exports}"
    -D "VERSION_SCRIPT=${version_script}" -P "${PROJECT_SOURCE_DIR}/cmake/exports.cmake"
  DEPENDS "${header}" "${PROJECT_SOURCE_DIR}/cmake/exports.cmake"
  COMMENT "Reading the header's declarations"
  VERBATIM)

# For the static library the embedded runtime's own symbols are made local, so that it links beside a full Swift
# runtime or another embedded one. Its COMDAT groups go first: a local symbol in a group that the linker drops in
# favour of somebody else's would be a dangling reference.
set(local_object "${object_dir}/servicekit-local.o")
add_custom_command(OUTPUT "${local_object}"
  COMMAND "${CMAKE_LINKER}" -r --force-group-allocation -o "${local_object}" "${object}"
  COMMAND "${CMAKE_OBJCOPY}" "--keep-global-symbols=${exports}" "${local_object}"
  DEPENDS "${object}" "${exports}"
  COMMENT "Keeping only the header's functions global"
  VERBATIM)

add_library(servicekit SHARED "${object}")
set(libraries servicekit)
set(generated "${object}" "${exports}" "${version_script}")
if(NOT SERVICEKIT_SANITIZE) # A sanitizer keeps global symbols of its own, and it is the same code anyway.
  add_library(servicekit_static STATIC "${local_object}")
  list(APPEND libraries servicekit_static)
  list(APPEND generated "${local_object}")
endif()
set_source_files_properties("${object}" "${local_object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)

# One target makes all that is generated. With make, two that merely depended on it would each make it, at once.
add_custom_target(servicekit_objects DEPENDS ${generated})
foreach(library IN LISTS libraries)
  add_library(ServiceKit::${library} ALIAS ${library})
  add_dependencies(${library} servicekit_objects)
  target_include_directories(${library} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set_target_properties(${library} PROPERTIES OUTPUT_NAME servicekit LINKER_LANGUAGE C)
endforeach()

find_package(Threads REQUIRED) # part of libc since glibc 2.34
target_link_libraries(servicekit PRIVATE Threads::Threads m)
if(TARGET servicekit_static)
  target_link_libraries(servicekit_static PRIVATE Threads::Threads m)
endif()

set_target_properties(servicekit PROPERTIES
  VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}" SKIP_BUILD_RPATH TRUE INSTALL_RPATH ""
  LINK_DEPENDS "${version_script}")
target_link_options(servicekit PRIVATE
  "LINKER:--version-script=${version_script}" LINKER:--gc-sections LINKER:--as-needed
  LINKER:-z,relro,-z,now,-z,nodelete,-z,noexecstack)
if(NOT SERVICEKIT_SANITIZE) # The runtime of a sanitizer is in the program, not in the library.
  target_link_options(servicekit PRIVATE LINKER:-z,defs)
endif()

# For every C program in this build, the tests and the examples.
if(SERVICEKIT_SANITIZE)
  add_compile_options("-fsanitize=${SERVICEKIT_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  add_link_options("-fsanitize=${SERVICEKIT_SANITIZE}" -fuse-ld=lld)
  if("thread" IN_LIST sanitizers) # The toolchain's ThreadSanitizer runtime refers to libdispatch.
    add_link_options("-L${SERVICEKIT_SWIFT_RUNTIME}" -ldispatch -lBlocksRuntime "LINKER:-rpath,${SERVICEKIT_SWIFT_RUNTIME}")
  endif()
endif()
