# SPDX-License-Identifier: Apache-2.0
#
#   make test       lints, docs, a build without warnings, and every test; about 30 minutes
#   make test-one-core  the same on one core, which finds waits that need a second one
#   make test-console  the tests of the console in a browser, after a build
#   make demo       real open data through a real database, about a minute after the build
#   make check      what a change must pass: all of make test, a release build, the benchmark, DocC
#   make soak       the full counts with fresh seeds, in slices that can be resumed
#   make bench      Divan against two floors in C, interleaved, in CPU time
#   make sanitize   the tests under the thread and the address sanitizer
#   make package    a Debian package, a tarball and an OCI image, for machines without Swift
#   make try-package  installs the package in a fresh Debian and follows the guide of servers there; as root
#   make docs       the DocC site, into .build/docs
#   make format     rewrites the sources in the house format
#   make help       this list
#
# Each begins with scripts/bootstrap, which installs the system packages that are missing and is
# instant when none is.

.PHONY: bootstrap bootstrap-tests bootstrap-package test test-one-core test-console demo check soak bench sanitize package try-package docs format help

help:
	@sed -n 's/^#   //p' Makefile

bootstrap:
	@scripts/bootstrap

# What the tests need besides: programs that they meet, such as Avahi.
bootstrap-tests:
	@scripts/bootstrap --tests

test: bootstrap-tests
	@scripts/check --test

test-one-core: bootstrap-tests
	swift build --build-tests
	taskset -c 0 scripts/test

test-console: bootstrap-tests
	swift build --product divan
	swift build --product divan-javascript
	@scripts/test-console $(ARGUMENTS)

demo: bootstrap
	@scripts/demo

check: bootstrap-tests
	@scripts/check

soak: bootstrap-tests
	@scripts/soak $(SUITES)

bench: bootstrap
	@scripts/bench $(ARGUMENTS)

sanitize: bootstrap-tests
	@scripts/sanitize

bootstrap-package:
	@scripts/bootstrap --package

package: bootstrap-package
	@scripts/package $(FOLDER)

try-package: bootstrap-package
	@scripts/try-package $(FOLDER)

docs: bootstrap
	@scripts/docs

format:
	swift format format --in-place --parallel --recursive Package.swift Sources Tests Examples Benchmarks
