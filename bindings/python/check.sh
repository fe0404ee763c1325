#!/usr/bin/env bash
# Builds the wheel, looks at it, and tests it as installed:  check.sh <library> <work directory>
# Says 77 where Python's venv or PyPI is not to be had: no test may need the network.
set -euo pipefail
library=$(realpath "$1") work=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
skip() {
  echo "$1"
  exit 77
}

rm -rf "$work" && mkdir -p "$work" && cd "$work"
python3 -m venv venv || skip "python3 has no venv"
export PATH=$work/venv/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1 SOURCE_DATE_EPOCH=1700000000
pip install 'setuptools>=70' pytest mypy auditwheel || skip "PyPI cannot be reached"

# From a copy, since setuptools leaves its own files beside the sources; twice, to see that both are the same.
mkdir -p source/bindings
cp -R "$here" source/bindings/python && cp "$here/../../abi.json" source/
for pass in first second; do
  SERVICEKIT_LIBRARY=$library pip wheel --no-deps --no-build-isolation --wheel-dir "$pass" source/bindings/python
  rm -rf source/bindings/python/{build,src/*.egg-info}
done
cmp first/*.whl second/*.whl
unset SOURCE_DATE_EPOCH

auditwheel show first/*.whl | tee auditwheel.txt
grep -q 'is consistent with' auditwheel.txt && grep -qE '"manylinux_2_(1[0-9]|2[0-9]|3[0-4])_' auditwheel.txt
pip install --no-index first/*.whl
cp -R "$here/tests" tests
python -m pytest -q -W error -p no:cacheprovider tests
cd source/bindings/python && python -m mypy
