// SPDX-License-Identifier: Apache-2.0

/// A command line that cannot be understood, in one sentence.
struct UsageError: Error, Equatable, CustomStringConvertible {
    var message: String

    init(_ message: String) {
        self.message = message
    }

    var description: String { message }
}
