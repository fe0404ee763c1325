#!/usr/bin/env bash
# What a packager would look at in the files that are shipped:  check-library.sh shared|static <file>
# ctest hands over the tools, and in EXPORTS the list of the header's functions.
set -uo pipefail
kind=$1 file=$2
temporary=$(mktemp -d) && trap 'rm -rf "$temporary"' EXIT
failures=0
check() { # check <what> <command…>: its exit status decides
  local what=$1 && shift
  if "$@" >"$temporary/output" 2>&1; then
    echo "ok      $what"
  else
    echo "FAILED  $what" && sed 's/^/        /' "$temporary/output" && failures=$((failures + 1))
  fi
}
none() { ! grep -E "$@"; }
some() { grep -qE "$@" || { echo "not there: ${*: -2:1}" && false; }; }

if [ "$kind" = static ]; then
  "$NM" --extern-only --defined-only "$file" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort >"$temporary/exports"
  check "defines the header's functions and nothing else" diff "$EXPORTS" "$temporary/exports"
  exit $((failures > 0))
fi

cd "$temporary" || exit 1
"$READELF" --dynamic --wide "$file" >dynamic
"$READELF" --program-headers --wide "$file" >segments
"$READELF" --version-info --wide "$file" >versions
"$NM" --dynamic --defined-only --with-symbol-versions "$file" | awk '$2 != "A" { print $3 }' | sort >exports
sed 's/$/@@SERVICEKIT_1.0/' "$EXPORTS" >expected
"$STRIP" -o stripped "$file"

sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' dynamic >needed
check "needs libc, libm and the loader only" none -vx 'libc\.so\.6|libm\.so\.6|ld-linux[-a-z0-9_]*\.so\.[0-9]' needed
grep -oE 'GLIBC_[0-9.]+' versions | sed 's/GLIBC_//' | sort -uV | awk -F. '$1 > 2 || $2 > 34' >newer
check "no glibc symbol newer than 2.34" none . newer
check "exports the header's functions, versioned, and nothing else" diff expected exports
check "SONAME libservicekit.so.${VERSION%%.*}" some "SONAME.*\[libservicekit\.so\.${VERSION%%.*}\]" dynamic
check "version node SERVICEKIT_1.0" some 'Name: SERVICEKIT_1\.0' versions
check "RELRO" some GNU_RELRO segments
check "bind-now" some 'BIND_NOW|FLAGS_1.*NOW' dynamic
check "nodelete" some 'FLAGS_1.*NODELETE' dynamic
check "no executable stack" some 'GNU_STACK .* RW  ' segments
check "no text relocations" none TEXTREL dynamic
check "no rpath" none 'RPATH|RUNPATH' dynamic
size=$(stat -c %s stripped)
check "$((size / 1024)) KB stripped, under 400" test "$size" -lt 409600
exit $((failures > 0))
