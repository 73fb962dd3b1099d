// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a child says: whole lines, written at once, so that a kill leaves no half of what counts.
enum Report {
    /// Says lines on the output.
    static func say(_ lines: String...) { write(lines.joined(separator: "\n") + "\n", to: 1) }

    /// Says many lines on the output.
    static func say(all lines: [String]) { write(lines.joined(separator: "\n") + "\n", to: 1) }

    /// Says what went wrong and ends the process.
    static func trouble(_ message: String) -> Never {
        write(message + "\n", to: 2)
        exit(1)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { bytes in
                #if canImport(Glibc)
                Glibc.write(descriptor, bytes.baseAddress, bytes.count)
                #else
                Darwin.write(descriptor, bytes.baseAddress, bytes.count)
                #endif
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { exit(1) }
            rest = rest.dropFirst(written)
        }
    }
}
