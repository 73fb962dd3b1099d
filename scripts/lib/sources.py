# SPDX-License-Identifier: Apache-2.0
"""What the check scripts share: finding files, and seeing Swift code without comments and strings.

Only os, re and sys are used, so that Debian's python3-minimal is enough.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED_FOLDERS = {".build", ".git", ".swiftpm", ".work", "__pycache__"}


def files(*folders, suffixes=(".swift",)):
    """The files below the folders that end in one of the suffixes, relative to the root, in order."""
    found = []
    for folder in folders:
        for place, subfolders, names in os.walk(os.path.join(ROOT, folder)):
            subfolders[:] = sorted(set(subfolders) - SKIPPED_FOLDERS)
            for name in sorted(names):
                if name.endswith(tuple(suffixes)):
                    found.append(os.path.relpath(os.path.join(place, name), ROOT))
    return found


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def code_only(text, keeps_strings=False):
    """The Swift text with comments and string contents blanked, every newline and column kept.

    With `keeps_strings` only comments are blanked.

    Text inside a string interpolation is blanked too; braces there are balanced, so nothing that the
    checks look for is lost. The name in a raw identifier is replaced by the letter x.
    """
    out = []
    position, end = 0, len(text)

    def blank(upto, letter=" "):
        nonlocal position
        out.append(re.sub(r"[^\n]", letter, text[position:upto]))
        position = upto

    while position < end:
        two = text[position:position + 2]
        if two == "//":
            newline = text.find("\n", position)
            blank(end if newline < 0 else newline)
        elif two == "/*":
            blank(_end_of_block_comment(text, position))
        elif text[position] == "`":
            closing = text.find("`", position + 1)
            blank(end if closing < 0 else closing + 1, "x")
        elif text[position] == '"' or re.match(r'#+"', text[position:position + 8]):
            closing = _end_of_string(text, position)
            if keeps_strings:
                out.append(text[position:closing])
                position = closing
            else:
                blank(closing)
        else:
            out.append(text[position])
            position += 1
    return "".join(out)


def _end_of_block_comment(text, start):
    depth, position = 0, start
    while position < len(text):
        two = text[position:position + 2]
        if two == "/*":
            depth, position = depth + 1, position + 2
        elif two == "*/":
            depth, position = depth - 1, position + 2
            if depth == 0:
                return position
        else:
            position += 1
    return len(text)


def _end_of_string(text, start):
    hashes = len(re.match(r"#*", text[start:]).group())
    quote = '"""' if text.startswith('"""', start + hashes) else '"'
    closing = quote + "#" * hashes
    escape = "\\" + "#" * hashes
    position = start + hashes + len(quote)
    while position < len(text):
        if text.startswith(closing, position):
            return position + len(closing)
        if text.startswith(escape + "(", position):
            position = _end_of_interpolation(text, position + len(escape))
        elif text.startswith(escape, position):
            position += len(escape) + 1
        elif text[position] == "\n" and quote == '"':
            return position
        else:
            position += 1
    return len(text)


def _end_of_interpolation(text, start):
    depth, position = 0, start
    while position < len(text):
        if text[position] == '"':
            position = _end_of_string(text, position)
            continue
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
        if depth == 0:
            return position
    return len(text)


def without_blocks(markdown):
    """The Markdown text with code blocks blanked, every newline kept."""
    blanked = lambda match: re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"^```.*?^```", blanked, markdown, flags=re.MULTILINE | re.DOTALL)


def without_code(markdown):
    """The Markdown text with code blocks and code spans blanked, every newline kept."""
    return re.sub(r"`[^`\n]*`", lambda match: " " * len(match.group()), without_blocks(markdown))


def line_of(text, position):
    return text.count("\n", 0, position) + 1


class Report:
    """Collects problems and warnings, prints them, and ends the script with the right status."""

    def __init__(self, name):
        self.name = name
        self.problems = []
        self.warnings = []

    def problem(self, place, sentence):
        self.problems.append(f"{place}: {sentence}")

    def warning(self, place, sentence):
        self.warnings.append(f"{place}: {sentence}")

    def finish(self, summary, advice):
        for line in self.warnings:
            print(f"{self.name}: look again: {line}")
        for line in self.problems:
            print(f"{self.name}: {line}", file=sys.stderr)
        if self.problems:
            print(f"{self.name}: {len(self.problems)} to put right. {advice}", file=sys.stderr)
            sys.exit(1)
        print(f"{self.name}: {summary}")
