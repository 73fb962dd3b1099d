# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that is used as a person uses it: by what is written on buttons and fields, and by keys.

Nothing here sleeps for a fixed time: `until` asks again until a condition holds.
"""
import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import tempfile
import time

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException, ElementNotInteractableException, JavascriptException, NoSuchElementException,
    StaleElementReferenceException, WebDriverException)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

PATIENCE = 30.0
ARGUMENTS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    # A page that was left would keep its connections for a minute, and a server is given six.
    "--disable-features=BackForwardCache", "--force-color-profile=srgb", "--lang=en-US", "--window-size=1280,800",
    # A process for each page that is shown takes as much of a processor as the page.
    "--renderer-process-limit=1",
]
SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
PASSING = (StaleElementReferenceException, ElementClickInterceptedException, ElementNotInteractableException,
           NoSuchElementException)


# The program itself: the script of that name in /usr/bin would go on after the driver has ended it.
SHELL = "/usr/lib/chromium/chromium-headless-shell"


class Browser:
    """Chromium's headless shell where it is installed, which draws the same with half of the work; Chromium itself
    where it is not, where CHROMIUM names one, or where a test needs a `whole` browser, with tabs that are out of sight."""

    def __init__(self, whole=False):
        self.downloads = pathlib.Path(tempfile.mkdtemp(prefix="divan-downloads."))
        options = webdriver.ChromeOptions()
        for argument in ARGUMENTS:
            options.add_argument(argument)
        shell = SHELL if not whole and os.path.exists(SHELL) else None
        options.binary_location = os.environ.get("CHROMIUM") or shell or "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.add_experimental_option("prefs", {
            "download.default_directory": str(self.downloads), "download.prompt_for_download": False})
        driver = os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")
        self.driver = webdriver.Chrome(service=Service(driver), options=options)
        self.driver.set_script_timeout(15)
        self.base = ""
        self.expected = []
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=(SCRIPTS / "watch.js").read_text())
        self.library = (SCRIPTS / "find.js").read_text()
        self.cdp("Page.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))

    def quit(self):
        self.driver.quit()
        shutil.rmtree(self.downloads, ignore_errors=True)

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    # The page

    def reset(self, base):
        """As a browser that has never seen the console at `base`: no cookies, no storage, 1280 x 800, light."""
        self.driver.get("about:blank")
        origin = base.split("/_utils/")[0]
        self.cdp("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
        self.driver.delete_all_cookies()
        self.cdp("Network.clearBrowserCookies")
        for file in self.downloads.iterdir():
            file.unlink()
        self.size(1280, 800)
        self.scheme("light")
        self.base = base
        self.expected = []
        self.driver.get_log("browser")

    def size(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name, reduced_motion=True):
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": name},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"}])

    def open(self, hash="#/", settle=True):
        """Loads the console anew at an address of its own, in place of the one that is shown."""
        is_shown = self.js("""
          const [base, hash] = arguments;
          if (location.href.replace(/#.*/, "") !== base) return false;
          const here = history.replaceState.bind(history, null, "", hash);
          here();
          // What is shown must not put its own address there again before it goes, as it may at the end of something slow.
          history.replaceState = history.pushState = () => {};
          addEventListener("hashchange", here);
          return true;""", self.base, hash)
        if is_shown:
            self.driver.refresh()
        else:
            self.driver.get(self.base + hash)
        if settle:
            self.settled()

    def go(self, hash):
        """Goes to another address of the console without loading it anew."""
        self.js("location.hash = arguments[0]", hash)
        self.settled()

    def reload(self):
        self.driver.refresh()
        self.settled()

    @contextlib.contextmanager
    def hidden(self):
        """Puts another tab in front meanwhile; the page goes on to be asked and told by `js`."""
        page = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        front = self.driver.current_window_handle
        # Switching to a tab also shows it.
        self.driver.switch_to.window(page)
        self.cdp("Target.activateTarget", targetId=front)
        self.until(lambda: self.js("return document.hidden"), "the page is out of sight")
        try:
            yield
        finally:
            self.driver.switch_to.window(front)
            self.driver.close()
            self.driver.switch_to.window(page)
            self.until(lambda: not self.js("return document.hidden"), "the page is in sight again")

    @property
    def hash(self):
        return self.js("return decodeURIComponent(location.hash)")

    def settled(self, seconds=PATIENCE):
        """Waits until the page shows what it has: no request under way but feeds, nothing marked as busy."""
        self.until(lambda: self.js("return window.divanTest.isSettled()"), "the page has settled", seconds)

    def js(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def module(self, code, *arguments):
        """Runs code in the page that may `await`, and returns what it returns. `load("core/dom.js")` gives a module of the console."""
        wrapped = (
            "const args = [...arguments], done = args.pop();"
            "const load = (name) => import(new URL('js/' + name, document.baseURI.replace(/[#?].*$/, '')).href);"
            "(async () => {" + code + "})().then((value) => done({ value }), (error) => done({ error: String(error && error.stack || error) }));")
        answer = self.driver.execute_async_script(wrapped, *arguments)
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer.get("value")

    def until(self, condition, what, seconds=PATIENCE):
        """Asks until a condition gives something that is true, and returns that."""
        end = time.monotonic() + seconds
        pause, trouble = 0.01, None
        while True:
            try:
                if value := condition():
                    return value
                trouble = None
            except (*PASSING, JavascriptException) as error:
                trouble = error
            if time.monotonic() > end:
                more = f" ({str(trouble).splitlines()[0]})" if trouble else ""
                raise AssertionError(f"waited {seconds:.0f} s in vain: {what}{more}\n{self.describe()}")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.1)

    # Finding

    def all(self, role, name=None, within=None):
        """The visible elements of a role, with an accessible name that equals a text or matches a pattern."""
        pattern = {"source": name.pattern, "flags": "i" if name.flags & re.I else ""} if isinstance(name, re.Pattern) else None
        return self.js(self.library + "; return find(arguments[0], arguments[1], arguments[2], arguments[3])",
                       role, None if pattern else name, pattern, within)

    def find(self, role, name=None, within=None, seconds=PATIENCE):
        return self.until(lambda: self.all(role, name, within), f"there is a {role} {shown(name)}", seconds)[0]

    def has(self, role, name=None, within=None):
        return bool(self.all(role, name, within))

    def gone(self, role, name=None, within=None, seconds=PATIENCE):
        self.until(lambda: not self.all(role, name, within), f"there is no {role} {shown(name)}", seconds)

    def css(self, selector, seconds=PATIENCE):
        """The first element of a selector, for what has no role: waits until it is there."""
        return self.until(lambda: self.js("return document.querySelector(arguments[0])", selector), f"there is {selector}", seconds)

    def name_of(self, element):
        return self.js(self.library + "; return nameOf(arguments[0])", element)

    @property
    def text(self):
        """What can be read on the page, dialogs and messages included."""
        return self.js("return document.body.innerText")

    def reads(self, text, seconds=PATIENCE):
        """Waits until a text, or what matches a pattern, can be read on the page."""
        def is_there():
            page = self.text
            return text.search(page) if isinstance(text, re.Pattern) else text in page
        self.until(is_there, f"the page reads {shown(text)}", seconds)

    def reads_no(self, text, seconds=PATIENCE):
        self.until(lambda: text not in self.text, f"the page does not read {shown(text)}", seconds)

    # Acting

    def _act(self, act, what):
        """Does something to an element that may be drawn anew, or be covered, at the moment."""
        def tried():
            act()
            return True
        self.until(tried, what)

    def click(self, role, name=None, within=None):
        self._act(lambda: self.find(role, name, within).click(), f"a {role} {shown(name)} can be clicked")

    def click_css(self, selector):
        self._act(lambda: self.css(selector).click(), f"{selector} can be clicked")

    def choose(self, label, text):
        """Chooses an option of a select by what is written on it."""
        box = self.find("combobox", label)
        done = self.js(
            "const [box, text] = arguments; const option = [...box.options].find((one) => one.label === text || one.value === text);"
            "if (!option) return false; box.value = option.value;"
            "box.dispatchEvent(new Event('input', { bubbles: true })); box.dispatchEvent(new Event('change', { bubbles: true })); return true;",
            box, text)
        if not done:
            raise AssertionError(f"{label} has no option {text!r}")

    def type(self, label, text, role="textbox", within=None, clear=True):
        """Types into a field, in place of what is in it."""
        def act():
            field = self.find(role, label, within)
            field.click()
            if clear:
                field.send_keys(Keys.CONTROL, "a")
                field.send_keys(Keys.DELETE)
            field.send_keys(text)
        self._act(act, f"one can type into {shown(label)}")

    def press(self, *names):
        """Presses keys one after the other where the focus is: "Enter", "Control+s", "Shift+ArrowDown", "g"."""
        special = {
            "Enter": Keys.ENTER, "Escape": Keys.ESCAPE, "Tab": Keys.TAB, "ArrowDown": Keys.ARROW_DOWN, "ArrowUp": Keys.ARROW_UP,
            "ArrowLeft": Keys.ARROW_LEFT, "ArrowRight": Keys.ARROW_RIGHT, "Home": Keys.HOME, "End": Keys.END, "Space": Keys.SPACE,
            "PageDown": Keys.PAGE_DOWN, "PageUp": Keys.PAGE_UP, "Delete": Keys.DELETE, "Backspace": Keys.BACKSPACE,
            "Control": Keys.CONTROL, "Shift": Keys.SHIFT, "Alt": Keys.ALT, "F6": Keys.F6,
        }
        for name in names:
            *held, key = name.split("+") if len(name) > 1 else [name]
            actions = ActionChains(self.driver, duration=0)
            for one in held:
                actions.key_down(special[one])
            actions.send_keys(special.get(key, key))
            for one in reversed(held):
                actions.key_up(special[one])
            actions.perform()

    def write(self, text):
        """Types a text where the focus is."""
        ActionChains(self.driver, duration=0).send_keys(text).perform()

    def paste(self, text):
        """Puts a text where the focus is in place of what is there, as one paste does."""
        self.press("Control+a")
        self.cdp("Input.insertText", text=text)

    def drop(self, selector, name, content, type="text/plain"):
        """Drops a file onto an element."""
        self.js("""
          const [selector, name, content, type] = arguments;
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([content], name, { type }));
          for (const event of ["dragenter", "dragover", "drop"]) {
            document.querySelector(selector).dispatchEvent(new DragEvent(event, { dataTransfer, bubbles: true, cancelable: true }));
          }""", selector, name, content, type)

    def actions(self):
        return ActionChains(self.driver, duration=0)

    def focused(self):
        """Role and name of what has the focus."""
        return self.js(self.library + "; return describe(document.activeElement)")

    def is_focused(self, name):
        self.until(lambda: self.focused()["name"] == name, f"the focus is on {name!r}, not {self.focused()}")

    # What went wrong

    def expect_errors(self, *patterns):
        """Messages of the browser's console that this test causes."""
        self.expected += patterns

    def errors(self):
        """What the browser complained of: exceptions, refused scripts and styles, missing files of the console; and what
        scripts that came from data did."""
        found = []
        for entry in self.driver.get_log("browser"):
            message = entry["message"]
            source = entry.get("source", "")
            if entry["level"] not in ("SEVERE", "WARNING") or any(re.search(one, message) for one in self.expected):
                continue
            # A request that the server refuses is shown by the view; a file of the console that is missing is a fault.
            if source == "network" and "/_utils/" not in message:
                continue
            if source == "intervention" or entry["level"] == "WARNING" and source not in ("security", "javascript"):
                continue
            found.append(f"{source}: {message}")
        try:
            found += self.js("return window.divanTest ? window.divanTest.alarms : []")
        except WebDriverException:
            pass
        return [one for one in found if not any(re.search(pattern, one) for pattern in self.expected)]

    def describe(self):
        try:
            return f"at {self.hash}: {' '.join(self.text.split())[:600]}"
        except WebDriverException as error:
            return f"the page cannot be read: {error}"

    def picture(self, path):
        data = self.cdp("Page.captureScreenshot", format="png")["data"]
        content = base64.b64decode(data)
        pathlib.Path(path).write_bytes(content)
        return content

    def downloaded(self, pattern="*", seconds=PATIENCE):
        """Waits for a file that the browser saved."""
        def whole():
            if list(self.downloads.glob("*.crdownload")):
                return None
            return next(iter(sorted(self.downloads.glob(pattern))), None)
        return self.until(whole, f"{pattern} has been saved", seconds)


def shown(name):
    return "" if name is None else f"/{name.pattern}/" if isinstance(name, re.Pattern) else json.dumps(name, ensure_ascii=False)
