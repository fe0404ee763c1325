#!/usr/bin/env bash
# Builds and runs the scenario in one language, and looks at its TAP:  run.sh <language> <library> <work directory>
# Says 77 where the language is not installed, or fails there if SERVICEKIT_ALL_LANGUAGES is set.
set -uo pipefail
language=$1 library=$2 work=$3/$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
include=$here/../../include directory=$(dirname "$library")
mkdir -p "$work" && rm -f "$work/result"
export LC_ALL=C.UTF-8

finish() { # finish <status> <result>
  echo "$2" | tee "$work/result"
  exit "$1"
}
need() {
  local tool
  for tool; do
    command -v "$tool" >/dev/null || [ -e "$tool" ] || {
      [ -z "${SERVICEKIT_ALL_LANGUAGES:-}" ] || finish 1 "FAILED: $tool is not installed"
      finish 77 "skipped: $tool is not installed"
    }
  done
}
build() { "$@" || finish 1 "FAILED: does not build"; }

case $language in
python) need python3 && run=(python3 -X faulthandler "$here/scenario.py") ;;
cpp)
  need "${CXX:-g++}"
  build "${CXX:-g++}" -std=c++17 -O1 -Wall -Wextra -Wpedantic -Werror -I "$include" "$here/scenario.cpp" \
    -o "$work/scenario" "$library" -pthread -Wl,-rpath,"$directory"
  run=("$work/scenario")
  ;;
rust)
  need rustc
  build rustc --edition 2021 -D warnings -o "$work/scenario" "$here/scenario.rs"
  run=("$work/scenario")
  ;;
go)
  need go "${CC:-cc}"
  export GOCACHE=$work/cache GOPATH=$work/path GOPROXY=off GOFLAGS=-mod=mod GOTOOLCHAIN=local
  export CGO_CFLAGS="-I$include" CGO_LDFLAGS="-L$directory -Wl,-rpath,$directory"
  build env -C "$here/go" go build -o "$work/scenario" .
  run=("$work/scenario")
  ;;
java)
  jar=/usr/share/java/jna.jar
  need java javac "$jar"
  build javac -cp "$jar" -Xlint:all,-serial -Werror -d "$work" "$here/Scenario.java"
  run=(java -cp "$jar:$work" Scenario)
  ;;
csharp)
  need mono mcs
  build mcs -langversion:7 -warnaserror -out:"$work/scenario.exe" "$here/scenario.cs"
  run=(env LD_LIBRARY_PATH="$directory" mono "$work/scenario.exe")
  ;;
ruby) need ruby && run=(ruby -W "$here/scenario.rb") ;;
lua) need luajit && run=(luajit "$here/scenario.lua") ;;
php) need php && run=(php -d ffi.enable=1 -d display_errors=stderr "$here/scenario.php") ;;
perl)
  need perl
  perl -MFFI::Platypus -e 1 2>/dev/null || need FFI::Platypus
  run=(perl "$here/scenario.pl")
  ;;
guile) need guile && run=(guile --no-auto-compile "$here/scenario.scm") ;;
lisp)
  need sbcl
  run=(sbcl --noinform --no-sysinit --no-userinit --disable-debugger --load "$here/scenario.lisp" --quit
    --end-toplevel-options)
  ;;
swift)
  need "${SWIFTC:-swiftc}"
  build "${SWIFTC:-swiftc}" -swift-version 6 -warnings-as-errors -module-cache-path "$work/modules" \
    -o "$work/scenario" "$here/scenario.swift"
  run=("$work/scenario")
  ;;
*) finish 1 "FAILED: unknown language" ;;
esac

"${run[@]}" "$library" >"$work/tap" 2>"$work/errors"
status=$?
cat "$work/tap" "$work/errors"
points=$(sed -n '1s/^1\.\.//p' "$work/tap")
passed=$(grep -cE '^ok ' "$work/tap")
expected=$(grep -cE '^\| [0-9]+ ' "$here/SCENARIO.md")
[ "$status" = 0 ] || finish 1 "FAILED: exit status $status after $passed points"
[ "$points" = "$expected" ] || finish 1 "FAILED: it plans ${points:-no} points, and SCENARIO.md has $expected"
# Every point, under its number and its name, and nothing else.
diff <(sed 1d "$work/tap") <(sed -nE 's/^\| ([0-9]+) ([a-z ]+[a-z]) +\|.*/ok \1 - \2/p' "$here/SCENARIO.md") ||
  finish 1 "FAILED: $passed of $expected points"
finish 0 "$passed of $expected points"
