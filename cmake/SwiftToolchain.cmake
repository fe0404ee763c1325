# Finds swiftc, and the clang that belongs to it: the one compiler sure to read the header as Swift reads it, and the
# one whose sanitizer runtimes match what swiftc emits. Asking swiftc where it lives also works behind a proxy such
# as swiftly's, where the path in PATH is not the toolchain's.
find_program(SERVICEKIT_SWIFTC swiftc DOC "The Swift compiler")
if(NOT SERVICEKIT_SWIFTC)
  message(FATAL_ERROR "swiftc is not in PATH. ServiceKit is written in Swift: https://www.swift.org/install")
endif()

execute_process(COMMAND "${SERVICEKIT_SWIFTC}" -print-target-info
  OUTPUT_VARIABLE info RESULT_VARIABLE failed ERROR_VARIABLE why)
if(failed)
  message(FATAL_ERROR "${SERVICEKIT_SWIFTC} -print-target-info failed:\n${why}")
endif()
string(JSON SERVICEKIT_SWIFT_VERSION GET "${info}" compilerVersion)
string(JSON resources GET "${info}" paths runtimeResourcePath)
string(JSON SERVICEKIT_SWIFT_RUNTIME GET "${info}" paths runtimeLibraryPaths 0)
string(REGEX MATCH "[0-9]+\\.[0-9]+(\\.[0-9]+)?" number "${SERVICEKIT_SWIFT_VERSION}")
if(number VERSION_LESS 6.2)
  message(FATAL_ERROR "Swift 6.2 or newer is needed, and ${SERVICEKIT_SWIFTC} is ${SERVICEKIT_SWIFT_VERSION}.")
endif()
find_program(SERVICEKIT_CLANG clang PATHS "${resources}/../../bin" NO_DEFAULT_PATH REQUIRED
  DOC "The clang of the Swift toolchain")
