# SPDX-License-Identifier: Apache-2.0
"""Checks of a page for people who use it by ear, by keys, or with weak eyes. The checks are ours; the names of controls are Chromium's own, too."""
from browser import SCRIPTS

LIBRARY = (SCRIPTS / "find.js").read_text() + (SCRIPTS / "accessibility.js").read_text()
NAMED = {"button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "slider", "switch", "tab", "menuitem", "menuitemcheckbox",
         "grid", "dialog", "spinbutton", "listbox", "tree", "treegrid"}


def faults(browser):
    """What is wrong with the page as it is now, as sentences."""
    return browser.js(LIBRARY + "; return accessibilityFaults()") + unnamed(browser)


def unnamed(browser):
    """Controls that have no name in the tree that Chromium gives to screen readers."""
    browser.cdp("Accessibility.enable")
    nodes = browser.cdp("Accessibility.getFullAXTree")["nodes"]
    browser.cdp("Accessibility.disable")
    found = []
    for node in nodes:
        role = node.get("role", {}).get("value")
        if role in NAMED and not node.get("ignored") and not node.get("name", {}).get("value", "").strip():
            found.append(f"Chromium has no name for a {role}")
    return found


def focus_faults(browser, most=50):
    """Goes through the page by Tab: each stop must be in sight, show that it has the focus, and stand after the one before."""
    browser.js("delete window.divanFocus; delete window.divanLast; document.querySelector('a.skip').focus()")
    browser.press("Tab")
    found, keys = [], []
    for _ in range(most):
        state = browser.js(LIBRARY + "; return focusState()")
        if state and keys and state["key"] == keys[-1]:
            # An editor takes Tab for itself, and says that Escape gives it back.
            browser.press("Escape", "Tab")
            state = browser.js(LIBRARY + "; return focusState()")
            if state and state["key"] == keys[-1]:
                found.append(f"neither Tab nor Escape and Tab leave {state['what']}")
                break
        if state is None or state["key"] in keys:
            break
        if not state["isInSight"]:
            found.append(f"the focus is out of sight: {state['what']}")
        if not state["isRing"]:
            found.append(f"the focus is not to be seen: {state['what']}")
        if not state["isAfter"]:
            found.append(f"the focus goes back to {state['what']}")
        keys.append(state["key"])
        browser.press("Tab")
    if len(keys) < 3:
        found.append(f"Tab reaches {len(keys)} controls only")
    return found
