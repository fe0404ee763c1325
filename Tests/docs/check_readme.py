#!/usr/bin/env python3
"""Does what the README tells a newcomer who uses Swift: makes its package of its blocks, builds, runs and tests it.

    check_readme.py <swift> <source directory> <work directory>

The paragraph before each block names the block's file.
"""

import re
import subprocess
import sys
from pathlib import Path

from markdown import blocks, write_if_changed

EXPECTED = "Hello, world!\n"


def link_package(root, work):
    """Makes the package known as `servicekit` in the work directory, whatever the checkout's directory is called: a
    package that is depended on by its path is known by that one's last part."""
    work.mkdir(parents=True, exist_ok=True)
    link = work / "servicekit"
    if not link.is_symlink() or link.resolve() != root:
        link.unlink(missing_ok=True)
        link.symlink_to(root, target_is_directory=True)


def main():
    swift, root, work = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    link_package(root, work)
    readme = root / "README.md"
    lines = readme.read_text(encoding="utf-8").splitlines()
    project = work / "hello"
    files = set()
    for block in blocks(readme, "swift", section="From Swift"):
        before = next(text for text in reversed(lines[: block.line - 2]) if text)
        name = re.findall(r"`([\w/]+\.swift)`:$", before)
        if not name:
            sys.exit(f"{readme}:{block.line - 1}: what file is this?")
        files.add(name[0])
        write_if_changed(project / name[0], "\n".join(block.lines) + "\n")
    if "Package.swift" not in files or len(files) < 3:
        sys.exit(f"The README has not the files of a project, but {sorted(files)}.")

    options = ["--package-path", str(project), "--scratch-path", str(work / "build")]
    # The tests' build is the one that takes time; it has the program in it.
    subprocess.run([swift, "build", "--build-tests", *options], check=True)
    printed = subprocess.run([swift, "run", "--skip-build", *options], check=True, stdout=subprocess.PIPE, text=True).stdout
    print(printed, end="")
    if printed != EXPECTED:
        sys.exit(f"It should print {EXPECTED!r}.")
    subprocess.run([swift, "test", "--skip-build", *options], check=True)


if __name__ == "__main__":
    main()
