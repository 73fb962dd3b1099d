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
    ///
    /// - Returns: The value.
    /// - Throws: `ScriptError.Code.script` where it is nested deeper, and `workerFailed` where it is no JSON.
    package func value() throws(ScriptError) -> PackedValue {
        do { return try Self.parse(line, levels: Self.mostLevels + 16) } catch {
            throw error.kind == .nesting ? .tooDeep : .workerFailed
        }
    }

    /// The value of an answer with the rows of a document, such as `[[["Ann",1]],[]]`.
    ///
    /// One function that emits something that is nested too deep does not keep the others from their rows: in place of such a
    /// row stands `false`, which an index takes for a row that breaks a limit.
    ///
    /// - Returns: The rows of each function.
    /// - Throws: `ScriptError.Code.workerFailed` where it is no JSON.
    package func rows() throws(ScriptError) -> PackedValue {
        let levels = Self.mostLevels + NestedRows.level
        do { return try Self.parse(line, levels: levels) } catch {
            guard error.kind == .nesting else { throw .workerFailed }
        }
        let shallow = NestedRows.withoutRows(deeperThan: levels, in: line)
        do { return try Self.parse(shallow, levels: levels) } catch { throw .workerFailed }
    }

    /// How deep a document may be nested, and what is emitted.
    private static let mostLevels = JSONParser.Options().maximumDepth

    private static func parse(_ line: [UInt8], levels: Int) throws(JSONParser.Failure)
        -> PackedValue
    {
        var options = JSONParser.Options()
        options.maximumDepth = levels
        return try PackedValue(parsing: line, options: options)
    }
}

extension ScriptError {
    /// A function whose result cannot be stored or sent.
    static let tooDeep = ScriptError(
        .script, tooDeepSentence, name: "nested_too_deep", reason: tooDeepSentence)

    private static let tooDeepSentence =
        "A function gives something that is nested deeper than 512 levels; make it flatter."
}
