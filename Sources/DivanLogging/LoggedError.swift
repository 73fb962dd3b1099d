// SPDX-License-Identifier: Apache-2.0

/// An error whose description has words that must not be logged: those of a script, of an app's function or of another
/// server, which may have content of documents.
package protocol LoggedError: Error {
    /// One line without those words.
    var logged: String { get }
}

extension Log {
    /// What an entry above the level `debug` says of an error.
    ///
    /// - Parameter error: The error.
    /// - Returns: One line without content of documents.
    package static func words(of error: any Error) -> String {
        (error as? any LoggedError)?.logged ?? "\(error)"
    }
}
