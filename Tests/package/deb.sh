#!/usr/bin/env bash
# Builds the Debian packages and the archive from a second build of the library, and uses them as a stranger would:
#   deb.sh <work directory>
# ctest hands over the tools and the directories. Says 77 where a tool is missing, or fails there if CI is set.
set -euo pipefail
work=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for tool in dpkg-deb lintian gzip; do
  command -v "$tool" >/dev/null || {
    echo "$tool is not installed"
    [ -z "${CI:-}" ] || exit 1
    exit 77
  }
done
SOURCE_DATE_EPOCH=$(git -C "$SOURCE" log -1 --format=%ct 2>/dev/null || echo 1700000000)
export SOURCE_DATE_EPOCH

rm -rf "$work" && mkdir -p "$work"
"$CMAKE" -S "$SOURCE" -B "$work/build" -DCMAKE_C_COMPILER="$CC" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
  -DSERVICEKIT_TESTS=OFF -DSERVICEKIT_EXAMPLES=OFF >"$work/log" || { cat "$work/log" && exit 1; }
"$CMAKE" --build "$work/build" >"$work/log" || { cat "$work/log" && exit 1; }

if [ "$CONFIGURATION" = Release ]; then # Two builds of one commit are identical.
  for file in "libservicekit.so.$VERSION" libservicekit.a; do cmp "$BUILD/$file" "$work/build/$file"; done
fi
for pass in first second; do
  (cd "$work/build" && "${CMAKE%/*}/cpack" -B "$work/$pass") >"$work/log" || { cat "$work/log" && exit 1; }
  rm -rf "$work/$pass/_CPack_Packages"
done
diff -r "$work/first" "$work/second"
ls "$work/first"

lintian --allow-root --fail-on error,warning "$work/first/"*.deb

for package in "$work/first/"*.deb; do dpkg-deb -x "$package" "$work/root"; done
prefix=$work/root/usr
libdir=$(dirname "$(find "$prefix" -name libservicekit.a)")
"$CMAKE" -S "$here" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" \
  -DEXPECTED_VERSION="$VERSION" >"$work/log" || { cat "$work/log" && exit 1; }
"$CMAKE" --build "$work/consumer" >"$work/log" || { cat "$work/log" && exit 1; }
for program in with_shared with_static from_cpp; do
  [ ! -e "$work/consumer/$program" ] || "$work/consumer/$program" "$VERSION"
done
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
  "$CC" "$here/main.c" $(pkg-config --cflags --libs servicekit) -o "$work/with_pkg_config"
  LD_LIBRARY_PATH=$libdir "$work/with_pkg_config" "$VERSION"
fi

# The archive has the same files, but for what only Debian wants.
mkdir "$work/archive" && tar -xzf "$work/first/"*.tar.gz -C "$work/archive" --strip-components=1
diff -rq --exclude=doc "$work/archive/usr" "$prefix"
echo "deb: ok"
