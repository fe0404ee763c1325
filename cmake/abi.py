#!/usr/bin/env python3
"""Writes abi.json, the machine-readable form of include/servicekit.h, for people who write bindings.

    abi.py              writes abi.json anew
    abi.py --check      fails if abi.json is not what the header says
    abi.py --functions  prints the names of the functions
    abi.py --c          prints a C file that compiles only if abi.json agrees with the compiler

The header is regular: a doc comment before each declaration, one @param a parameter, one tag line at the end.
Whatever is not is an error here, not a gap in the file.
"""
import difflib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER, OUTPUT = ROOT / "include/servicekit.h", ROOT / "abi.json"

SCALARS = {"int32_t": ("int32", 4), "uint32_t": ("uint32", 4), "int64_t": ("int64", 8), "uint64_t": ("uint64", 8),
           "size_t": ("size", 8), "svk_status": ("status", 4)}
TAGS = re.compile(r"^\[(any thread|factory's thread only) · (may wait|never waits) · (calls back|no callbacks)"
                  r"( · signal-safe)?\]$", re.M)


def fail(message):
    sys.exit(f"abi.py: {message}")


def squeeze(text):
    return " ".join(text.split())


def read_comment(raw):
    """The text of a /** … */, without its stars."""
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in raw.strip()[3:-2].strip().splitlines()]
    return "\n".join(lines).strip()


def declarations(text):
    """Each doc comment with the declaration after it."""
    text = text[text.index('extern "C" {'):]
    for match in re.finditer(r"(/\*\*.*?\*/)\n((?:#define.*?(?<!\\)\n)|(?:typedef struct \w+ \{.*?\n\} \w+;)|(?:[^/#\n].*?;))",
                             text, re.S):
        if not match[2].startswith(("  ", "}")):
            yield read_comment(match[1]), match[2].strip()


def summary_of(comment):
    return squeeze(re.split(r"\n\n|\n@|\n\[", comment)[0])


class Header:
    def __init__(self, text):
        self.constants, self.tokens, self.callbacks, self.structs, self.functions = {}, [], [], [], []
        for comment, declaration in declarations(text):
            if match := re.match(r"#define (SVK_[A-Z_]+) (\d+)(u?)$", declaration):
                self.constants[match[1]] = {"value": int(match[2]), "summary": summary_of(comment)}
            elif match := re.match(r"typedef struct (\w+) \1;$", declaration):
                ended = re.search(r"Ended by (.*?)[.](?:\s|$)", squeeze(comment))
                self.tokens.append({"name": match[1], "summary": summary_of(comment),
                                    "ended_by": re.findall(r"svk_\w+", ended[1]) if ended else []})
            elif match := re.match(r"typedef struct (\w+) \{(.*)\} \1;$", declaration, re.S):
                self.structs.append({"name": match[1], "summary": summary_of(comment), "body": match[2]})
            elif match := re.match(r"typedef (.*?)\(\*(\w+)\)\((.*)\);$", squeeze(declaration)):
                self.callbacks.append(self.function(match[2], match[1], match[3], comment))
            elif match := re.match(r"SVK_API (.*?)(\w+)\((.*)\);$", squeeze(declaration)):
                self.functions.append(self.function(match[2], match[1], match[3], comment, tagged=True))
            elif not re.match(r"#define SVK_\w+_INIT|typedef int32_t svk_status;", declaration):
                fail(f"cannot read: {declaration}")
        names = {c["name"] for c in self.callbacks}
        names |= {t["name"] for t in self.tokens}
        names |= {s["name"] for s in self.structs} | set(SCALARS)
        self.structs = [self.struct(s) for s in self.structs]
        for item in self.functions + self.callbacks + self.structs:
            for part in item.get("parameters", []) + item.get("fields", []):
                base = re.sub(r"\bconst\b|\*", "", part["type"]).strip()
                if base not in names | {"void", "char"}:
                    fail(f"{item['name']}: unknown type {part['type']}")

    # ---- types ----

    @staticmethod
    def type_of(raw):
        """The C type without annotations, whether it may be NULL, and what a foreign-function interface calls it."""
        raw = squeeze(raw)
        nullable = bool(re.search(r"\*\s*SVK_NULLABLE$|_fn SVK_NULLABLE$", raw))
        plain = squeeze(raw.replace("SVK_NULLABLE", " "))
        plain = re.sub(r"\s*\*\s*", "*", plain).replace("*const*", "* const *")
        plain = re.sub(r"^([^*]*[^*\s])\*", r"\1 *", plain)
        if plain in SCALARS:
            kind = SCALARS[plain][0]
        elif plain == "void":
            kind = "void"
        elif plain.endswith("_fn"):
            kind = "callback"
        elif plain == "const char *":
            kind = "string"
        elif plain.endswith("*"):
            kind = "pointer"
        else:
            fail(f"unknown type {plain}")
        return {"type": plain, "kind": kind} | ({"nullable": nullable} if kind in ("pointer", "string", "callback") else {})

    # ---- structs ----

    def struct(self, raw):
        fields, offset, widest = [], 0, 1
        for comment, declaration in re.findall(r"(/\*\*.*?\*/)\n\s*(.*?;)", raw["body"], re.S):
            type_, name = re.match(r"(.*?)(\w+);$", squeeze(declaration)).groups()
            described = self.type_of(type_)
            size = SCALARS[described["type"]][1] if described["type"] in SCALARS else 8
            offset = (offset + size - 1) // size * size
            fields.append({"name": name, **described, "offset": offset, "size": size,
                           "summary": squeeze(read_comment(comment))})
            offset, widest = offset + size, max(widest, size)
        return {"name": raw["name"], "summary": raw["summary"], "size": (offset + widest - 1) // widest * widest,
                "alignment": widest, "options": fields[0]["name"] == "size" and raw["name"].endswith("_options"),
                "fields": fields}

    # ---- functions and callbacks ----

    def function(self, name, returns, parameters, comment, tagged=False):
        documented = dict(re.findall(r"@param (\w+) (.*?)(?=\n@|\n\n|\n\[|\Z)", comment, re.S))
        result = {"name": name, "summary": summary_of(comment), "parameters": []}
        for raw in [] if parameters == "void" else parameters.split(","):
            type_, parameter = re.match(r"(.*?)(\w+)$", raw.strip()).groups()
            if parameter not in documented:
                fail(f"{name}: no @param {parameter}")
            result["parameters"].append(self.parameter(name, parameter, type_, squeeze(documented.pop(parameter))))
        if documented:
            fail(f"{name}: @param without a parameter: {', '.join(documented)}")
        result["returns"] = self.returns(name, returns, comment)
        if tagged:
            if not (tags := TAGS.search(comment)):
                fail(f"{name}: no tag line")
            result["tags"] = {"thread": "any" if tags[1] == "any thread" else "factory",
                              "may_wait": tags[2] == "may wait", "calls_back": tags[3] == "calls back",
                              "signal_safe": bool(tags[4])}
        return result

    def parameter(self, function, name, raw, text):
        described = self.type_of(raw)
        is_out = text.startswith("Receives") or (function == "svk_create_fn" and name == "instance")
        result = {"name": name, **described, "direction": "out" if is_out else "in"}
        if described["kind"] in ("pointer", "string"):
            result |= self.ownership(function, name, text, is_out, described["type"])
        return result | {"summary": text}

    @staticmethod
    def ownership(function, name, text, is_out, type_):
        """Whose it is after the call: see "ownership" in abi.json."""
        if is_out:
            if yours := re.search(r"yours until (.*?)(?:[.]|$)", text):
                ends = re.findall(r"svk_\w+", yours[1]) or ["svk_subscription_cancel"]
                return {"ownership": "caller", "ended_by": ends}
            if re.search(r"\*\*$|\* const \*$", type_):
                return {"ownership": "caller" if function == "svk_create_fn" else "library"}
            return {"ownership": "copy"}
        if text.endswith("to end.") or function == "svk_stream_send_owned" and name == "data":
            return {"ownership": "consumed"}
        if name == "user_data" and not function.endswith("_fn"):
            return {"ownership": "kept"}
        return {"ownership": "borrowed"}

    def returns(self, name, raw, comment):
        result = self.type_of(raw)
        text = re.search(r"@return (.*?)(?=\n\n|\n\[|\Z)", comment, re.S)
        if text is None and result["kind"] != "void":
            fail(f"{name}: no @return")
        if text:
            statuses = re.findall(r"^- (SVK_\w+)", text[1], re.M)
            if result["kind"] == "status" and statuses:
                result |= {"statuses": statuses, "other_statuses": "- Any other status" in text[1]}
            else:
                result["summary"] = squeeze(text[1])
        if result["kind"] in ("pointer", "string"):
            result["ownership"] = "library"
        return result


def build():
    header = Header(HEADER.read_text())
    version = ".".join(str(header.constants[f"SVK_VERSION_{part}"]["value"]) for part in ("MAJOR", "MINOR", "PATCH"))
    return {
        "about": "Generated from include/servicekit.h by cmake/abi.py. Sizes and offsets are those of 64-bit Linux.",
        "format": 1,
        "version": version,
        "library": f"libservicekit.so.{version.split('.')[0]}",
        "kinds": {
            "status": "int32", "size": "size_t", "string": "NUL-terminated UTF-8",
            "pointer": "an address, or a token (a pointer-sized word) where the type is one of the tokens",
            "callback": "a C function pointer of the callback type named",
        },
        "ownership": {
            "borrowed": "in: used during the call, or copied",
            "consumed": "in: ends, or belongs to the library, whatever the call answers",
            "kept": "in: kept after success, until the matching user_data_free is called",
            "caller": "out: the caller's, until one of `ended_by` is called",
            "library": "out: belongs to the library; the summary says how long it is valid",
            "copy": "out: written to memory of the caller's",
        },
        "constants": header.constants,
        "tokens": header.tokens,
        "structs": header.structs,
        "callbacks": header.callbacks,
        "functions": header.functions,
    }


def c_program(abi):
    """Declarations that contradict the header wherever abi.json does."""
    yield "#include <servicekit.h>\n#include <stddef.h>\n"
    for name, constant in abi["constants"].items():
        yield f'_Static_assert({name} == {constant["value"]}, "{name}");\n'
    for struct in abi["structs"]:
        yield f'_Static_assert(sizeof({struct["name"]}) == {struct["size"]}, "{struct["name"]}");\n'
        yield f'_Static_assert(_Alignof({struct["name"]}) == {struct["alignment"]}, "{struct["name"]}");\n'
        for field in struct["fields"]:
            place = f'{struct["name"]}, {field["name"]}'
            yield f'_Static_assert(offsetof({place}) == {field["offset"]}, "{place}");\n'
            yield f'extern {field["type"]} *field_{struct["name"]}_{field["name"]};\n'
            yield (f'extern __typeof__(&(({struct["name"]} *)0)->{field["name"]}) '
                   f'field_{struct["name"]}_{field["name"]};\n')
    for item in abi["functions"] + abi["callbacks"]:
        parameters = ", ".join(parameter["type"] for parameter in item["parameters"]) or "void"
        type_ = f'typedef {item["returns"]["type"]} '
        if item["name"].endswith("_fn"):
            yield f'{type_}(*check_{item["name"]})({parameters});\nextern {item["name"]} value_{item["name"]};\n'
            yield f'extern check_{item["name"]} value_{item["name"]};\n'
        else:
            yield f'{type_}check_{item["name"]}({parameters});\nextern check_{item["name"]} {item["name"]};\n'


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "--c":
        sys.stdout.writelines(c_program(json.loads(OUTPUT.read_text())))
        return
    text = json.dumps(build(), indent=2, ensure_ascii=False) + "\n"
    if mode == "--check":
        have = OUTPUT.read_text() if OUTPUT.exists() else ""
        if have != text:
            sys.stdout.writelines(difflib.unified_diff(have.splitlines(True), text.splitlines(True), "abi.json", "the header"))
            fail("abi.json is not what the header says: run cmake/abi.py")
    elif mode == "--functions":
        print(*sorted(function["name"] for function in build()["functions"]), sep="\n")
    elif mode == "":
        OUTPUT.write_text(text)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
