#!/usr/bin/env python3
"""Renders the DocC catalogue with the documentation comments of ServiceKit, and fails if a link leads nowhere.

    check_catalogue.py <swift> <source directory> <work directory> <SwiftPM's build directory>

It needs the modules that check_snippets.py has built in the same build directory. Exits with 77, for "skipped", where the
toolchain has no docc.
"""

import json
import subprocess
import sys
from pathlib import Path

# A parameter whose name says everything needs no words.
ALLOWED = "is missing documentation"


def main():
    swift, root, work, build = Path(sys.argv[1]), Path(sys.argv[2]).resolve(), Path(sys.argv[3]), Path(sys.argv[4])
    docc = swift.with_name("docc")
    if not docc.exists():
        print(f"there is no {docc}")
        sys.exit(77)
    modules = next(build.glob("*/debug/Modules"), None)
    if modules is None:
        sys.exit("the snippets are not built")
    target = json.loads(subprocess.check_output([swift, "-print-target-info"]))["target"]["triple"]
    symbols = work / "symbols"
    symbols.mkdir(parents=True, exist_ok=True)
    maps = [root / "include" / "module.modulemap", root / "Sources" / "CPlatform" / "module.modulemap"]
    command = [swift, "symbolgraph-extract", "-module-name", "ServiceKit", "-target", target, "-I", modules]
    command += ["-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir", symbols]
    command += [argument for each in maps for argument in ("-Xcc", f"-fmodule-map-file={each}")]
    subprocess.run(command, check=True)

    diagnostics = work / "diagnostics.json"
    diagnostics.unlink(missing_ok=True)
    command = [docc, "convert", root / "Sources" / "ServiceKit" / "ServiceKit.docc"]
    command += ["--additional-symbol-graph-dir", symbols, "--output-path", work / "documentation"]
    command += ["--fallback-display-name", "ServiceKit", "--fallback-bundle-identifier", "servicekit"]
    command += ["--diagnostics-file", diagnostics]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    faults = [each for each in json.loads(diagnostics.read_text())["diagnostics"] if ALLOWED not in each["summary"]]
    for fault in faults:
        line = fault.get("range", {}).get("start", {}).get("line", 0)
        print(f"{fault.get('source', '')}:{line}: {fault['summary']}")
    pages = len(list((work / "documentation" / "data" / "documentation").glob("**/*.json")))
    print(f"{pages} pages, {len(faults)} faults")
    sys.exit(1 if faults or pages == 0 else 0)


if __name__ == "__main__":
    main()
