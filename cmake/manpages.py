#!/usr/bin/env python3
"""Writes manual pages, compressed, from include/servicekit.h:  manpages.py <directory>

One page a function, and servicekit(3) from the header's first comment. abi.py has already refused whatever is not
documented; text that this does not understand is an error too.
"""
import gzip
import re
import sys
from pathlib import Path

import abi


def escape(text):
    """Text as roff wants it; `code` in bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = text.replace("→", "\\(->").replace("…", "...").replace("·", "\\(pc").replace("–", "\\(en")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    if stray := re.search(r"[^\x20-\x7e\n]", text):
        sys.exit(f"manpages.py: no roff for {stray[0]!r} in: {text}")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def filled(lines):
    return escape(" ".join(" ".join(lines).split()))


def body(text):
    """The header's comments: paragraphs, lists, code, tables and headings."""
    for block in re.split(r"\n\n+", text.strip()):
        lines = block.split("\n")
        if lines[0].startswith("## "):
            yield f'.SH "{escape(lines[0][3:]).upper()}"'
            lines = lines[1:]
            if not lines:
                continue
        if lines[0].startswith("    "):
            yield ".PP\n.nf\n.RS 4"
            yield from (escape(line[4:]) or "\\&" for line in lines)
            yield ".RE\n.fi"
        elif lines[0].startswith("|"):
            for row in lines:
                cells = [cell.strip() for cell in row.strip("|").split("|")]
                if not set("".join(cells)) <= set("- "):
                    yield ".TP\n.B " + escape(cells[0]) + "\n" + escape("; ".join(cells[1:]))
        else:
            items, before = [], []
            for line in lines:
                if line.startswith("- "):
                    items.append([line[2:]])
                elif items:
                    items[-1].append(line.strip())
                else:
                    before.append(line)
            if before:
                yield ".PP\n" + filled(before)
            for item in items:
                yield ".IP \\(bu 2\n" + filled(item)


def page(name, section, title, version, summary, parts):
    return "\n".join([
        f'.TH {name} {section} "" "ServiceKit {version}" "{title}"', ".SH NAME",
        f"{name} \\- {escape(summary)}", *parts, ""])


def function_page(function, comment, version):
    summary = re.sub(r"\.$", "", abi.squeeze(re.split(r"\.\s|\.$", function["summary"])[0]))
    summary = summary[0].lower() + summary[1:]
    parameters = ", ".join(
        parameter["type"] + ("" if parameter["type"].endswith("*") else " ") + parameter["name"]
        for parameter in function["parameters"]) or "void"
    returned = function["returns"]["type"]
    parts = [".SH SYNOPSIS", ".nf", ".B #include <servicekit.h>", ".PP",
             f'\\fB{escape(returned)}{"" if returned.endswith("*") else " "}{function["name"]}({escape(parameters)});\\fR',
             ".fi", ".SH DESCRIPTION"]
    text = re.split(r"\n@|\n\[", comment)[0]
    if after := re.search(r"^On failure: .*?(?=\n\n|\Z)", comment, re.S | re.M):
        text = text.replace(after[0], "") + "\n\n" + after[0]
    parts += body(text)
    if function["parameters"]:
        parts.append(".SH ARGUMENTS")
        for parameter in function["parameters"]:
            parts.append(f'.TP\n.B {parameter["name"]}\n{escape(parameter["summary"])}')
    if returned := re.search(r"@return (.*?)(?=\n\n|\n\[|\Z)", comment, re.S):
        parts += [".SH RETURN VALUE", *body(returned[1].strip())]
    tags = function["tags"]
    parts += [".SH THREADS AND CALLBACKS",
              ("Any thread may call it." if tags["thread"] == "any" else "Only its factory's thread may call it.") +
              (" It may wait." if tags["may_wait"] else " It never waits.") +
              (" It may call back." if tags["calls_back"] else " It runs no callbacks.") +
              (" It may be called in a signal handler." if tags["signal_safe"] else ""),
              ".SH SEE ALSO", ".BR servicekit (3)"]
    return page(function["name"], 3, "ServiceKit", version, summary, parts)


def write(path, text):
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main():
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    source = abi.HEADER.read_text()
    described = abi.build()
    comments = {match[1]: comment for comment, declaration in abi.declarations(source)
                if (match := re.match(r"SVK_API [^(]*?(\w+)\(", declaration))}
    for function in described["functions"]:
        text = function_page(function, comments[function["name"]], described["version"])
        write(directory / f'{function["name"]}.3.gz', text)
    about = abi.read_comment(re.match(r"/\*\*.*?\*/", source, re.S)[0])
    about = re.sub(r"^@file .*\n", "", about).replace("READ THIS FIRST. ", "")
    write(directory / "servicekit.3.gz", page(
        "servicekit", 3, "ServiceKit", described["version"], "dependency injection and stateful services, for C",
        [".SH SYNOPSIS", ".nf", ".B #include <servicekit.h>", ".fi", ".SH DESCRIPTION", *body(about), ".SH FUNCTIONS",
         *(f'.TP\n.BR {function["name"]} (3)\n{escape(function["summary"])}' for function in described["functions"])]))


main()
