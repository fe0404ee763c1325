"""The fenced code blocks of a Markdown page."""

from typing import NamedTuple


class Block(NamedTuple):
    language: str
    line: int  # of its first line, counted from 1
    lines: list[str]


def blocks(path, language, section=None):
    """The blocks in `language` of a page, or of one of its second-level sections."""
    found, block, current = [], None, None
    with open(path, encoding="utf-8") as page:
        for number, text in enumerate(page, 1):
            text = text.rstrip("\n")
            if text.startswith("```"):
                if block is None:
                    block = Block(text[3:].strip(), number + 1, [])
                    continue
                if block.language == language and section in (None, current):
                    found.append(block)
                block = None
            elif block is not None:
                block.lines.append(text)
            elif text.startswith("## "):
                current = text[3:].strip()
    if block is not None:
        raise SystemExit(f"{path}:{block.line - 1}: this code block has no end")
    return found


def write_if_changed(path, text):
    """Leaves a file alone that is as it should be, so that what is made of it need not be made again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
