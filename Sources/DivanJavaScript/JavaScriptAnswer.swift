// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What a worker answers to a command.
package struct JavaScriptAnswer: Sendable {
    /// The answer, JSON in one line.
    package private(set) var line: [UInt8] = []
    /// What the script logged, in order.
    package private(set) var logs: [String] = []

    /// Takes a line of the worker's.
    ///
    /// - Parameter text: The line.
    /// - Returns: Whether it is the answer, and no log line.
    /// - Throws: `JavaScriptError.Code.script` when it is an error.
    mutating func take(_ text: [UInt8]) throws(JavaScriptError) -> Bool {
        if text.starts(with: #"["log","#.utf8) {
            logs.append(Self.texts(text).first ?? "")
            return false
        }
        if text.starts(with: #"["error","#.utf8) {
            let parts = Self.texts(text)
            throw .script(
                name: parts.first ?? "unknown_error", reason: parts.dropFirst().first ?? "")
        }
        line = text
        return true
    }

    /// The texts of an array behind its first one.
    private static func texts(_ line: [UInt8]) -> [String] {
        let values = (try? JSONParser.parse(line))?.array ?? []
        return values.dropFirst().map { $0.string ?? JSONWriter.string($0) }
    }
}
