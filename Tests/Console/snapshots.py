# SPDX-License-Identifier: Apache-2.0
"""Pictures of views, and checks of how they are laid out.

No picture is compared with one of another machine, whose fonts differ: what is checked is that nothing is blank, cut off, over each other or
outside of the window. `--pictures FOLDER` keeps them, to be looked at and for the docs.
"""
import os
import pathlib
import struct

from accessibility import LIBRARY
from browser import SCRIPTS

LAYOUT = LIBRARY + (SCRIPTS / "layout.js").read_text()
LOOKS = [(width, height, scheme) for width, height in ((1280, 800), (390, 800)) for scheme in ("light", "dark")]
# A page with a line of text on it is larger than this, and one of a single colour smaller.
LEAST = 6000


def layout_faults(browser):
    return browser.js(LAYOUT + "; return layoutFaults()")


def take(browser, name, width, height, scheme):
    """Takes a picture as the browser is now; returns what is wrong with it."""
    folder = os.environ.get("CONSOLE_PICTURES")
    path = pathlib.Path(folder or browser.downloads, f"{name}-{width}x{height}-{scheme}.png")
    path.parent.mkdir(parents=True, exist_ok=True)
    content = browser.picture(path)
    found = []
    if struct.unpack(">II", content[16:24]) != (width, height):
        found.append(f"the picture is not {width} x {height}")
    if len(content) < LEAST:
        found.append(f"the picture is as good as blank: {len(content)} bytes")
    if not folder:
        path.unlink()
    return found
