#!/usr/bin/env python3
"""Compiles every Swift block of the DocC catalogue against the package, and runs what can be run of them.

    check_snippets.py <swift> <source directory> <work directory> <SwiftPM's build directory>

Each article becomes a module of a package, so that a block can use what the blocks before it declare; each block
becomes a file of it. Statements become a test, so that they also run, and their `assert`s count. The compiler names the
article and the line.
"""

import re
import subprocess
import sys
from pathlib import Path

from markdown import blocks, write_if_changed

DECLARATION = re.compile(
    r"@|#(?:if|elseif|else|endif)\b|(?:public |private |fileprivate |internal |final |nonisolated |open |indirect )*"
    r"(?:actor|class|enum|extension|func|import|protocol|struct|typealias)\b"
)

MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "snippets",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "servicekit", path: "{root}")],
  targets: [{targets}
  ],
  swiftLanguageModes: [.v6]
)
"""
TARGET = """
    .testTarget(
      name: "{name}",
      dependencies: [{products}
      ],
      swiftSettings: [.treatAllWarnings(as: .error)]),"""
PRODUCT = """
        .product(name: "{name}", package: "servicekit"),"""


def source(article, block):
    """What is compiled of a block: its declarations as they are, its statements in a function."""
    outside, inside = [], []
    is_declaration = False
    for number, text in enumerate(block.lines, block.line):
        # A line at the margin begins something, unless it ends what is open.
        if text and not text[0].isspace() and text[0] not in ")}]" and not text.startswith("//"):
            is_declaration = bool(DECLARATION.match(text))
        part = outside if is_declaration else inside
        if not part or part[-1][0] != number - 1:
            part.append((number, f'#sourceLocation(file: "{article}", line: {number})'))
        part.append((number, text))
    code = [text for _, text in outside]
    if any(text.strip() and not text.startswith(("#", "//")) for _, text in inside):
        code.append(f'@Test("{Path(article).stem}, line {block.line}") private func line{block.line}() async throws {{')
        code += [text for _, text in inside] + ["}"]
    imports = {text for text in code if text.startswith("import ")} | {"import ServiceKit", "import Testing"}
    code = ["" if text in imports else text for text in code]
    return "\n".join(sorted(imports) + code) + "\n#sourceLocation()\n"


def write_package(root, work):
    catalogue = root / "Sources" / "ServiceKit" / "ServiceKit.docc"
    wanted, targets, count = set(), "", 0
    for article in sorted(catalogue.glob("**/*.md")):
        found = blocks(article, "swift")
        if not found:
            continue
        name = article.stem + "Snippets"
        text = ""
        for block in found:
            path = work / "snippets" / "Tests" / name / f"Line{block.line}.swift"
            code = source(article, block)
            write_if_changed(path, code)
            wanted.add(path)
            text += code
        products = ["ServiceKit"] + [name for name in ["ServiceKitTesting"] if f"import {name}" in text]
        targets += TARGET.format(name=name, products="".join(PRODUCT.format(name=product) for product in products))
        count += len(found)
        print(f"{article.stem}: {len(found)} blocks")
    for path in (work / "snippets" / "Tests").glob("*/*.swift"):
        if path not in wanted:
            path.unlink()
    write_if_changed(work / "snippets" / "Package.swift", MANIFEST.format(root=root, targets=targets))
    return count


def main():
    swift, root, work, build = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]), sys.argv[4]
    if write_package(root, work) == 0:
        sys.exit("There is not one Swift block in the catalogue.")
    # One after the other, since they share Container.shared and the process's contexts, as a reader's program would.
    command = [swift, "test", "--no-parallel"]
    command += ["--package-path", str(work / "snippets"), "--scratch-path", build]
    sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
