#!/usr/bin/env bash
# Builds and runs the scenario in one language, and looks at its TAP; then the README's lines in that language:
#   run.sh <language> <library> <work directory>
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

# prepare <source> <name>: builds a program where that is needed, and sets `run`.
prepare() {
  local source=$1 out=$work/$2
  case $language in
  python) need python3 && run=(python3 -X faulthandler "$source") ;;
  cpp)
    need "${CXX:-g++}"
    build "${CXX:-g++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror -I "$include" "$source" -o "$out" "$library" -pthread
    run=("$out")
    ;;
  rust)
    need rustc
    build rustc --edition 2021 -D warnings -L "$directory" -o "$out" "$source"
    run=("$out")
    ;;
  go)
    need go "${CC:-cc}"
    export GOCACHE=$work/cache GOPATH=$work/path GOPROXY=off GOFLAGS=-mod=mod GOTOOLCHAIN=local
    export CGO_CFLAGS="-I$include" CGO_LDFLAGS="-L$directory"
    build env -C "$(dirname "$source")" go build -o "$out" .
    run=("$out")
    ;;
  java)
    local jar=/usr/share/java/jna.jar
    need java javac "$jar"
    build javac -cp "$jar" -Xlint:all,-serial -Werror -d "$work" "$source"
    run=(java -cp "$jar:$work" "$(basename "$source" .java)")
    ;;
  csharp)
    need mono mcs
    build mcs -langversion:7 -warnaserror -out:"$out.exe" "$source"
    run=(mono "$out.exe")
    ;;
  ruby) need ruby && run=(ruby -W "$source") ;;
  lua) need luajit && run=(luajit "$source") ;;
  php) need php && run=(php -d ffi.enable=1 -d display_errors=stderr "$source") ;;
  perl)
    need perl
    perl -MFFI::Platypus -e 1 2>/dev/null || need FFI::Platypus
    run=(perl "$source")
    ;;
  guile) need guile && run=(guile --no-auto-compile "$source") ;;
  lisp)
    need sbcl
    run=(sbcl --noinform --no-sysinit --no-userinit --disable-debugger --load "$source" --quit --end-toplevel-options)
    ;;
  swift)
    need "${SWIFTC:-swiftc}"
    build "${SWIFTC:-swiftc}" -swift-version 6 -warnings-as-errors -module-cache-path "$work/modules" -o "$out" "$source"
    run=("$out")
    ;;
  *) finish 1 "FAILED: unknown language" ;;
  esac
}
export LD_LIBRARY_PATH=$directory

# language, its file, the language of the README's block
case $language in
cpp) file=scenario.cpp block=cpp ;;
csharp) file=scenario.cs block=csharp ;;
go) file=go/scenario.go block=go ;;
guile) file=scenario.scm block=scheme ;;
java) file=Scenario.java block=java ;;
lisp) file=scenario.lisp block=lisp ;;
lua) file=scenario.lua block=lua ;;
perl) file=scenario.pl block=perl ;;
php) file=scenario.php block=php ;;
python) file=scenario.py block=python ;;
ruby) file=scenario.rb block=ruby ;;
rust) file=scenario.rs block=rust ;;
swift) file=scenario.swift block=swift ;;
*) finish 1 "FAILED: unknown language" ;;
esac
prepare "$here/$file" scenario
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

# What the README says, as pasted, with the library installed.
mkdir -p "$work/readme"
pasted=$work/readme/$(basename "$file")
[ "$language" != java ] || pasted=$work/readme/Rain.java
sed -n "/^## In your language/,\$p" "$here/../../README.md" | sed -n "/^\`\`\`$block\$/,/^\`\`\`\$/p" | sed '1d;$d' >"$pasted"
[ "$language" != go ] || cp "$here/go/go.mod" "$work/readme/"
# The Python package, from where it is: python.package tests the wheel.
export PYTHONPATH=$here/../../bindings/python/src PYTHONDONTWRITEBYTECODE=1
prepare "$pasted" pasted
printed=$("${run[@]}" 2>&1)
echo "$printed"
[ "$printed" = rain ] || finish 1 "FAILED: the README's lines do not print rain"
finish 0 "$passed of $expected points"
