// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

/// What a worker answers to a command.
package struct ScriptAnswer: Sendable {
    /// The answer, JSON in one line.
    package private(set) var line: [UInt8] = []
    /// What the script logged, in order.
    package private(set) var logs: [String] = []

    /// Makes one that has nothing yet.
    package init() {}

    /// Takes a line of the worker's.
    ///
    /// - Parameter text: The line.
    /// - Returns: Whether it is the answer, and no log line.
    /// - Throws: `ScriptError.Code.script` when it is an error.
    package mutating func take(_ text: [UInt8]) throws(ScriptError) -> Bool {
        // Most answers are rows, which begin otherwise.
        guard text.count > 1, text[1] == UInt8(ascii: "\"") else {
            line = text
            return true
        }
        if text.starts(with: #"["log","#.utf8) {
            logs.append(Self.texts(text).first ?? "")
            return false
        }
        if text.starts(with: #"["error","#.utf8) || text.starts(with: #"["fatal","#.utf8) {
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

    /// The value of the answer: it may be nested somewhat deeper than a document, which it may hold.
    package func value() throws(ScriptError) -> PackedValue {
        var options = JSONParser.Options()
        options.maximumDepth += 16
        do { return try PackedValue(parsing: line, options: options) } catch { throw .workerFailed }
    }
}
