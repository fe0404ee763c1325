#!/usr/bin/env bash
# Installs with DESTDIR, moves the tree somewhere else, and uses it from there as a stranger would:
#   check.sh install|find_package|pkg-config <configuration>
# ctest hands over the tools and the directories.
set -euo pipefail
way=$1 configuration=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
temporary=$(mktemp -d) && trap 'rm -rf "$temporary"' EXIT
cd "$temporary"

DESTDIR=$temporary/stage "$CMAKE" --install "$BUILD" --config "$configuration" >install.log || { cat install.log; exit 1; }
library=$(find stage -name libservicekit.a)
prefix=${library%%/lib*}
mv "$prefix" moved
prefix=$temporary/moved
libdir=$(dirname "$(find "$prefix" -name libservicekit.a)")

case $way in
install)
  echo "Installed:" && (cd moved && find . -not -type d | sort)
  if find stage -not -type d | grep .; then echo "installed outside the prefix" && exit 1; fi
  for file in include/servicekit.h include/servicekit.hpp lib*/libservicekit.so "lib*/libservicekit.so.${VERSION%%.*}" \
    "lib*/libservicekit.so.$VERSION"; do
    compgen -G "moved/$file" >/dev/null || compgen -G "moved/lib/*/${file##*/}" >/dev/null || {
      echo "missing: $file" && exit 1
    }
  done
  # Debug information names the sources, as it must.
  [[ $configuration == *Deb* ]] && skip_binaries=-I || skip_binaries=
  if grep -rlF $skip_binaries -e "$SOURCE" -e "$temporary" moved; then echo "names a directory of the build" && exit 1; fi
  ;;
find_package)
  "$CMAKE" -S "$here" -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" -DEXPECTED_VERSION="$VERSION"
  "$CMAKE" --build build
  ./build/with_shared "$VERSION"
  ./build/with_static "$VERSION"
  if [ -x "$CXX" ]; then ./build/from_cpp "$VERSION"; fi
  ;;
pkg-config)
  command -v pkg-config >/dev/null || { echo "pkg-config is not installed" && exit 77; }
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  pkg-config --exact-version="$VERSION" servicekit
  warnings="-Wall -Wextra -pedantic -Werror"
  # Unquoted: each holds several words.
  "$CC" $warnings "$here/main.c" $(pkg-config --cflags --libs servicekit) -o with_shared
  LD_LIBRARY_PATH=$libdir ./with_shared "$VERSION"
  "$CC" $warnings -static "$here/main.c" $(pkg-config --static --cflags --libs servicekit) -o with_static
  ./with_static "$VERSION"
  if [ -x "$CXX" ]; then
    "$CXX" $warnings -x c++ "$here/main.c" -x none $(pkg-config --cflags --libs servicekit) -o from_cxx
    LD_LIBRARY_PATH=$libdir ./from_cxx "$VERSION"
    "$CXX" -std=c++17 $warnings "$here/main.cpp" $(pkg-config --cflags --libs servicekit) -o from_cpp
    LD_LIBRARY_PATH=$libdir ./from_cpp "$VERSION"
  fi
  ;;
esac
echo "$way: ok"
