// SPDX-License-Identifier: Apache-2.0

// The system's C library under one name: `internal import CLibrary` instead of a choice between names in
// every file. A function that a method's name hides is called as `CLibrary.open(…)`.
#if canImport(Glibc)
@_exported public import Glibc
#elseif canImport(Musl)
@_exported public import Musl
#else
@_exported public import Darwin
#endif
