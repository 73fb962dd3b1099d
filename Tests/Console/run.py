#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the console; scripts/test-console says how.

Each file of tests is a process with a browser of its own, and one more run at once than there are cores: they also wait.
"""
import argparse
import concurrent.futures
import faulthandler
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
# Files that take more than a minute, whatever their size.
LONGEST = ["test_views", "test_documents", "test_peers", "test_hostile", "test_tasks", "test_access_and_server", "test_read_only"]
SUMMARY = re.compile(r"^#counts (\d+) (\d+) (\d+)$", re.M)


class Result(unittest.TestResult):
    """Prints a line for each test, and what went wrong below it."""

    def __init__(self):
        super().__init__()
        self.passed, self.wrong, self.left_out = 0, 0, 0
        self.buffer = False

    @staticmethod
    def name(test):
        if not hasattr(test, "_testMethodName"):
            return str(test)
        subject = type(test).__module__.removeprefix("test_").replace("_", " ")
        return f"{subject}: {test._testMethodName.removeprefix('test_').replace('_', ' ')}"

    def startTest(self, test):
        super().startTest(test)
        self.began, self.is_wrong = time.monotonic(), False
        # Where a test hangs is said while it does.
        faulthandler.dump_traceback_later(45, repeat=True, file=sys.stdout)

    def addSuccess(self, test):
        if not self.is_wrong:
            self.passed += 1
            print(f"ok      {self.name(test)} ({time.monotonic() - self.began:.1f} s)", flush=True)

    def _wrong(self, test, error):
        self.is_wrong = True
        self.wrong += 1
        print(f"FAILED  {self.name(test)}", flush=True)
        text = self._exc_info_to_string(error, test) if hasattr(test, "failureException") else str(error[1])
        if hasattr(test, "failed"):
            text += test.failed()
        print("        " + text.strip().replace("\n", "\n        "), flush=True)

    def addError(self, test, error):
        self._wrong(test, error)

    addFailure = addError

    def addSubTest(self, test, subtest, error):
        if error is not None:
            print(f"        with {subtest.params}")
            self._wrong(test, error)

    def addSkip(self, test, reason):
        self.left_out += 1
        print(f"left out {self.name(test)}: {reason}", flush=True)


def run_file(name, pattern):
    """Runs the tests of one file in this process."""
    import case
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    if pattern:
        suite = unittest.TestSuite(chosen(suite, pattern))
    result = Result()
    try:
        suite.run(result)
    finally:
        case.quit_browsers()
        faulthandler.cancel_dump_traceback_later()
    print(f"#counts {result.passed} {result.wrong} {result.left_out}")
    return 1 if result.wrong else 0


def chosen(suite, pattern):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield unittest.TestSuite(chosen(one, pattern))
        elif re.search(pattern, Result.name(one)) or not hasattr(one, "_testMethodName"):
            yield one


def start_file(name, pattern, seconds):
    """Runs the tests of one file in a process of its own; returns what it printed and how long it took."""
    began = time.monotonic()
    command = [sys.executable, str(HERE / "run.py"), "--file", name, *(["--only", pattern] if pattern else [])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        # The browser and the server of the file belong to its session.
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        output += f"\nFAILED  {name}: it took longer than {seconds} s\n"
    if not SUMMARY.search(output):
        output += f"\nFAILED  {name}: it ended early\n#counts 0 1 0\n"
    return output, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="subjects, such as shell or documents; all unless given")
    parser.add_argument("--divan", metavar="PATH", help="the program; the newest debug build unless given")
    parser.add_argument("--sources", action="store_true", help="test the console of the sources, not the one inside the program")
    parser.add_argument("--pictures", metavar="FOLDER", help="keep the pictures of every view there")
    parser.add_argument("--failures", metavar="FOLDER", help="put pictures of failures there")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1, help="how many files at once; one more than cores, since tests also wait")
    parser.add_argument("--only", metavar="PATTERN", help="tests whose name matches")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.file:
        sys.exit(run_file(arguments.file, arguments.only))
    for name, value in (("DIVAN_PROGRAM", arguments.divan), ("CONSOLE_PICTURES", arguments.pictures),
                        ("CONSOLE_FAILURES", arguments.failures)):
        if value:
            os.environ[name] = os.path.abspath(value)
    if arguments.sources:
        os.environ["CONSOLE_SOURCES"] = "1"
    names = [path.stem for path in sorted(HERE.glob("test_*.py"))]
    if arguments.files:
        wanted = {f"test_{one.replace('-', '_')}" for one in arguments.files}
        if unknown := wanted - set(names):
            sys.exit(f"test-console: there are no tests of {', '.join(sorted(unknown))}")
        names = [one for one in names if one in wanted]
    # The longest go first, so that none of them is the last to begin.
    names.sort(key=lambda name: (LONGEST.index(name) if name in LONGEST else len(LONGEST), -(HERE / f"{name}.py").stat().st_size))
    sys.exit(run_all(names, arguments))


def run_all(names, arguments):
    began, passed, wrong, left_out = time.monotonic(), 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        waiting = [pool.submit(start_file, name, arguments.only, 280) for name in names]
        for done in concurrent.futures.as_completed(waiting):
            output, seconds = done.result()
            counts = [int(one) for one in SUMMARY.search(output).groups()]
            passed, wrong, left_out = passed + counts[0], wrong + counts[1], left_out + counts[2]
            print(SUMMARY.sub("", output).rstrip(), flush=True)
            print(f"        {seconds:.0f} s\n" if sum(counts) else "", flush=True)
    if left_out:
        print(f"{left_out} left out, since their view is not there yet")
    if arguments.pictures:
        print(f"The pictures are in {arguments.pictures}")
    print(f"{time.monotonic() - began:.0f} s in all")
    print(f"{passed} passed, {wrong} failed")
    return 1 if wrong or not passed else 0


if __name__ == "__main__":
    main()
