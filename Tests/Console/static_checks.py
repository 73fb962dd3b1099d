#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What can be said of the console's sources without a browser.

- Nothing parses HTML or runs text, no address leads elsewhere, and the page has no inline script, style or handler.
- Each file has its licence line, and lines of at most 120 columns; each module, sheet and icon that is named exists.
- Each custom property is defined, and each pair of ink and ground has a contrast of 4.5 in both schemes.
- All files together, as they are sent, are below a number of bytes.
- TypeScript finds nothing wrong with the types, where it is installed.

Prints one line for each fault, and exits with 1 if there is one.
"""
import gzip
import pathlib
import re
import shutil
import subprocess
import sys

CONSOLE = pathlib.Path(__file__).resolve().parent.parent.parent / "Console"
# See docs/decisions/0026-console.md.
LARGEST = 300_000
WIDEST = 120

# Each with what to do in its place.
FORBIDDEN = [
    (r"\b(inner|outer)HTML\b", "make elements by h() and fill()"),
    (r"\binsertAdjacentHTML\b|\bcreateContextualFragment\b|\bsetHTML(Unsafe)?\b|\bparseHTMLUnsafe\b", "make elements by h()"),
    (r"\bdocument\.write(ln)?\b", "make elements by h()"),
    (r"\bDOMParser\b|\bXSLTProcessor\b|\bsrcdoc\b", "make elements by h()"),
    (r"(?<![\w.])eval\s*\(|\bnew\s+Function\b|(?<![\w.])Function\s*\(", "call functions"),
    (r"\bset(Timeout|Interval)\s*\(\s*[\"'`]", "pass a function"),
    (r"\bjavascript:", "an address is made by link() or address()"),
    (r"setAttribute\(\s*[\"'`](style|on\w+)[\"'`]", "use style of h(), or a listener"),
    (r"\bcssText\b", "use style of h()"),
    (r"\b(localStorage|sessionStorage)\b[^;]*\b(password|secret|token)\b", "keep no secrets in the browser"),
    (r"\bdocument\.cookie\b", "the cookie of the session is for the browser alone"),
    (r"@import\b", "name the sheet in index.html, or load it by useStyle()"),
]
ADDRESS = re.compile(r"\b(?:https?|wss?|ftp)://[^\s\"'`<>)]*")
# A namespace, and samples of addresses in hints and comments that nothing asks.
ADDRESSES_ALLOWED = re.compile(r"^http://www\.w3\.org/(2000/svg|1999/xlink)$|^https?://([\w.-]*\.)?example\.(org|com|net)\b|"
                               r"^https?://(127\.0\.0\.1|localhost)\b|^https?://…?$")
INLINE = [(r"<script(?![^>]*\bsrc=)", "a script is a file"), (r"\bon\w+\s*=", "a handler is a listener"),
          (r"\bstyle\s*=|<style", "a style is in a sheet"), (r"<base\b|<iframe\b|<object\b|<embed\b", "the page has none")]


IMPORT = re.compile(r"^(?:import|export)\b[^;\"]*\bfrom\s+\"([^\"]+)\"|^import\s+\"([^\"]+)\"|\bimport\(\"([^\"]+)\"\)", re.M)


class Checks:
    def __init__(self, console):
        self.console = console
        self.files = sorted(one for one in console.rglob("*") if one.is_file())
        self.faults = []
        self.texts = {one: one.read_text() for one in self.files if one.suffix in (".js", ".css", ".html", ".json", ".svg")}

    def fault(self, file, line, text):
        self.faults.append(f"{file.relative_to(self.console.parent)}{f':{line}' if line else ''}: {text}")

    def of(self, *suffixes):
        return [(file, text) for file, text in self.texts.items() if file.suffix in suffixes]

    def forbidden(self):
        for file, text in self.of(".js", ".css", ".html", ".svg"):
            for number, line in enumerate(text.splitlines(), 1):
                for pattern, instead in FORBIDDEN:
                    if found := re.search(pattern, line):
                        self.fault(file, number, f"{found.group().strip()}: {instead}")
                for address in ADDRESS.findall(line):
                    if not ADDRESSES_ALLOWED.search(address) and "${" not in address:
                        self.fault(file, number, f"{address}: the console asks nothing of another host")
        for file, text in self.of(".html", ".svg"):
            for pattern, instead in INLINE:
                for found in re.finditer(pattern, text):
                    self.fault(file, text[:found.start()].count("\n") + 1, f"{found.group()}: {instead}")

    def style(self):
        for file, text in self.of(".js", ".css", ".html"):
            head = text.splitlines()[:2]
            if not any("SPDX-License-Identifier: Apache-2.0" in line for line in head):
                self.fault(file, 1, "the first line says its licence: SPDX-License-Identifier: Apache-2.0")
            wide = [number for number, line in enumerate(text.splitlines(), 1) if len(line) > WIDEST]
            if wide:
                self.fault(file, wide[0], f"{len(wide)} lines of more than {WIDEST} columns")
            for number, line in enumerate(text.splitlines(), 1):
                if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                    self.fault(file, number, "a TODO is an issue")
                if file.suffix == ".js" and re.search(r"\bconsole\.(log|debug|info)\b|\bdebugger\b", line):
                    self.fault(file, number, "left from a search for a fault")
            if not text.endswith("\n"):
                self.fault(file, None, "the last line has no end")

    def imports(self):
        for file, text in self.of(".js"):
            code = re.sub(r"^\s*(/\*\*|\*|//).*$", "", text, flags=re.M)
            for found in re.finditer(IMPORT, code):
                name = next(filter(None, found.groups()))
                if not name.startswith("."):
                    self.fault(file, None, f"imports {name}: modules are named by relative paths")
                elif not (file.parent / name).resolve().is_file():
                    self.fault(file, None, f"imports {name}, which is not there")
            for name in re.findall(r"useStyle\(\"([^\"]+)\"\)", code):
                if not (self.console / f"css/views/{name}.css").is_file():
                    self.fault(file, None, f"useStyle(\"{name}\"): there is no css/views/{name}.css")
        used = "\n".join(text for _, text in self.of(".js"))
        for sheet in (self.console / "css/views").glob("*.css"):
            if f'useStyle("{sheet.stem}")' not in used:
                self.fault(sheet, None, "no module loads it")
        for file, text in self.of(".html"):
            for name in re.findall(r"(?:href|src)=\"([^\"]+)\"", text):
                if not (file.parent / name).is_file():
                    self.fault(file, None, f"names {name}, which is not there")

    def icons(self):
        source = self.texts.get(self.console / "js/components/icon.js", "")
        known = set(re.findall(r"^\s*\"?(\w+)\"?:", source, flags=re.M))
        for file, text in self.of(".js"):
            for name in re.findall(r"\bicon\(\"(\w+)\"\)|\bicon: \"(\w+)\"", text):
                name = name[0] or name[1]
                if known and name not in known:
                    self.fault(file, None, f"there is no icon {name}")

    def properties(self):
        defined, by_code = set(), set()
        for _, text in self.of(".css"):
            defined |= set(re.findall(r"(?:^|[\s;{])(--[\w-]+)\s*:", text))
        for _, text in self.of(".js"):
            by_code |= set(re.findall(r"[\"'`](--[\w-]+)[\"'`]", text))
        for file, text in self.of(".css", ".js"):
            for found in re.finditer(r"var\((--[\w-]+)(\s*,)?", text):
                name, other = found.groups()
                # `var(--series-${n})` is made of numbers.
                if text[found.end():].startswith("${"):
                    continue
                if name not in defined | by_code and not other:
                    self.fault(file, text[:found.start()].count("\n") + 1, f"{name} is defined nowhere")
        for file, text in self.of(".css"):
            if file.name == "tokens.css":
                continue
            for number, line in enumerate(text.splitlines(), 1):
                if re.search(r"(?<![\w&-])#[0-9a-fA-F]{3,8}\b", line) and "::backdrop" not in line:
                    self.fault(file, number, "a colour is a token")
                if re.search(r"\b(margin|padding|border)-(left|right)\b|[;{\s](left|right)\s*:|text-align:\s*(left|right)", line):
                    self.fault(file, number, "use a logical property: right-to-left texts mirror the page")

    def contrast(self):
        tokens = read_tokens(self.texts[self.console / "css/tokens.css"])
        for ink, grounds in PAIRS.items():
            for ground in grounds:
                for scheme in (0, 1):
                    try:
                        ratio = contrast_of(tokens[ink][scheme], tokens[ground][scheme])
                    except KeyError as error:
                        self.faults.append(f"tokens.css: there is no colour {error}")
                        continue
                    least = 3.0 if ink in NOT_TEXT else 4.5
                    if ratio < least:
                        self.faults.append(f"tokens.css: {ink} on {ground} has a contrast of {ratio:.2f} in {('light', 'dark')[scheme]}; "
                                           f"{least} at least")

    def comments(self):
        """The server leaves out what looks like a comment at the beginning of a line: nothing else may look like one."""
        for file, text in self.of(".js"):
            # A text in backticks is the only one that goes on in another line. In a regular expression, write \\x60.
            kept, inside = without_comments(file).decode().splitlines(), False
            for number, line in enumerate(text.splitlines(), 1):
                if inside and kept[number - 1] != line and line.strip():
                    self.fault(file, number, "a line of a text in backticks begins like a comment")
                inside ^= kept[number - 1].count("`") % 2 == 1

    def sent(self):
        """The bytes of all files as they are sent."""
        return sum(len(gzip.compress(without_comments(one))) for one in self.files if one.name != "jsconfig.json")

    def size(self):
        total, packed = sum(one.stat().st_size for one in self.files if one.name != "jsconfig.json"), self.sent()
        print(f"Console: {total:,} bytes in {len(self.files)} files, {packed:,} as they are sent")
        if packed >= LARGEST:
            self.faults.append(f"Console: {packed:,} bytes are sent; {LARGEST:,} are the limit")

    def types(self):
        if not shutil.which("tsc"):
            print("Console: there is no tsc, so types are not checked")
            return
        done = subprocess.run(["tsc", "-p", "jsconfig.json"], cwd=self.console, capture_output=True, text=True)
        self.faults += [f"Console/{line}" for line in done.stdout.splitlines() if line.strip()]

    def run(self):
        for check in (self.forbidden, self.style, self.imports, self.icons, self.properties, self.contrast, self.comments, self.size, self.types):
            check()
        return self.faults


def without_comments(file):
    """The bytes of a file as the server sends them; see Sources/DivanListener/Console/Comments.swift."""
    text = file.read_text()
    if file.suffix in (".js", ".css"):
        lines = re.sub(r"^ *(?:/\*.*?\*/ *)+|^ *//[^\n]*", lambda found: "\n" * found.group().count("\n") + re.search(" *$", found.group()).group(), text, flags=re.M | re.S)
        text = re.sub(r"^ +$", "", lines, flags=re.M)
    return text.encode()


GROUNDS = ["--ground", "--surface", "--surface-raised", "--surface-sunken", "--surface-hover", "--surface-selected"]
CODE = ["--ground", "--surface", "--surface-raised", "--surface-sunken", "--surface-hover"]
PAIRS = {
    "--ink": [*GROUNDS, "--accent-soft", "--danger-soft", "--warning-soft", "--success-soft", "--info-soft"],
    "--ink-soft": GROUNDS,
    "--ink-faint": CODE,
    "--ink-on-accent": ["--accent", "--accent-hover"],
    "--accent": ["--ground", "--surface", "--surface-raised", "--surface-sunken", "--accent-soft"],
    "--accent-hover": ["--ground", "--surface", "--surface-raised"],
    "--danger": ["--ground", "--surface", "--surface-raised", "--danger-soft"],
    "--warning": ["--ground", "--surface", "--surface-raised", "--warning-soft"],
    "--success": ["--ground", "--surface", "--surface-raised", "--success-soft"],
    "--info": ["--ground", "--surface", "--surface-raised", "--info-soft"],
    "--code-key": CODE, "--code-string": CODE, "--code-number": CODE, "--code-word": CODE, "--code-mark": CODE,
    # Edges of controls, and shapes of charts.
    "--line-strong": ["--ground", "--surface", "--surface-raised"],
    **{f"--series-{number}": ["--ground", "--surface"] for number in range(1, 7)},
}
NOT_TEXT = {"--line-strong", *(f"--series-{number}" for number in range(1, 7))}


def read_tokens(text):
    """Colours of tokens.css by name, each for light and dark."""
    return {name: (light, dark) for name, light, dark in
            re.findall(r"(--[\w-]+):\s*light-dark\((#[0-9a-fA-F]{6}),\s*(#[0-9a-fA-F]{6})\)", text)}


def luminance(colour):
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast_of(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def main():
    faults = Checks(CONSOLE).run()
    for one in faults:
        print(one)
    print(f"Console: {len(faults)} faults in the sources" if faults else "Console: the sources are as they should be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
