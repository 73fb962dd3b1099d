// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// What the process was built with.
public enum Sanitizer {
    /// Whether the address or the thread sanitizer watches this process.
    ///
    /// They reserve terabytes of address space for what they note, and keep freed memory aside; a test
    /// that looks through its own memory leaves itself out.
    public static var isOn: Bool {
        for name in ["__asan_init", "__tsan_init"] {
            // SAFETY: the name of a function, which is only looked up.
            if unsafe dlsym(nil, name) != nil { return true }
        }
        return false
    }
}
