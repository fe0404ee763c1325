# Writes, from the declarations in the header, the list of exported functions and the linker's version script:
#   cmake -D CLANG=… -D HEADER=… -D LIST=… -D VERSION_SCRIPT=… -P exports.cmake
# The names come from the compiler's own reading of the header, so no comment or macro can mislead it.
execute_process(COMMAND "${CLANG}" -std=c99 -fsyntax-only -fno-color-diagnostics -Xclang -ast-dump -x c "${HEADER}"
  OUTPUT_VARIABLE ast ERROR_VARIABLE why RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${HEADER} does not compile:\n${why}")
endif()
string(REGEX MATCHALL "FunctionDecl 0x[^\n']* svk_[a-z0-9_]+ '" functions "${ast}")
list(TRANSFORM functions REPLACE ".* (svk_[a-z0-9_]+) '" "\\1")
list(REMOVE_DUPLICATES functions)
list(SORT functions)
if(NOT functions)
  message(FATAL_ERROR "${HEADER} declares no svk_ function.")
endif()
list(JOIN functions "\n" lines)
file(WRITE "${LIST}" "${lines}\n")
list(JOIN functions ";\n    " lines)
file(WRITE "${VERSION_SCRIPT}" "SERVICEKIT_1.0 {\n  global:\n    ${lines};\n  local:\n    *;\n};\n")
