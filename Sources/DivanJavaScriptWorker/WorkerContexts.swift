// SPDX-License-Identifier: Apache-2.0

/// The contexts of a worker: one for the functions of views, and one for each design document.
///
/// `reset` gives the views a new context, and `["ddoc","new",…]` the design document, so nothing that scripts made is there after
/// it. The context of a design document that came first makes room when there are many.
struct WorkerContexts {
    /// More contexts of design documents than this are not kept.
    private static let most = 8

    private let lines: StandardLines
    private var views: WorkerContext?
    /// Whether the views' context has answered nothing yet: then it is as good as a new one.
    private var isFresh = true
    private var designs: [(id: ArraySlice<UInt8>, context: WorkerContext)] = []

    init(_ lines: StandardLines) { self.lines = lines }

    /// Makes the first context; false when the engine cannot run the prelude.
    mutating func begin() -> Bool {
        views = WorkerContext(lines)
        return views != nil
    }

    /// What a context answers to a line that ends in a zero; nil when memory is not enough.
    mutating func answer(_ line: ArraySlice<UInt8>) -> [UInt8]? {
        guard let context = context(for: line) else { return nil }
        if context === views { isFresh = false }
        return context.answer(line)
    }

    /// The context that a command is for. One that cannot be read is for the views' context, which tells what is wrong with it.
    private mutating func context(for line: ArraySlice<UInt8>) -> WorkerContext? {
        var words = CommandWords(line)
        let command = words.next()
        if command?.elementsEqual("reset".utf8) == true, !isFresh {
            views = nil
            views = WorkerContext(lines)
        }
        guard command?.elementsEqual("ddoc".utf8) == true, let id = words.next() else {
            return views
        }
        guard id.elementsEqual("new".utf8) else {
            return designs.first { $0.id == id }?.context ?? views
        }
        guard let id = words.next() else { return views }
        designs.removeAll { $0.id == id }
        if designs.count == Self.most { designs.removeFirst() }
        guard let made = WorkerContext(lines) else { return nil }
        designs.append((Array(id)[...], made))
        return made
    }
}

/// The texts that a line begins with: `ddoc`, `new` and `_design/a` of `["ddoc","new","_design/a",{…}]`, as they are written.
///
/// It reads no further than to the first value that is no text. A parent writes a name in the same way each time.
private struct CommandWords {
    private let line: ArraySlice<UInt8>
    private var position: Int

    init(_ line: ArraySlice<UInt8>) {
        self.line = line
        position = line.startIndex
    }

    mutating func next() -> ArraySlice<UInt8>? {
        skipSpace()
        guard take(position == line.startIndex ? "[" : ",") || take("[") else { return nil }
        skipSpace()
        guard take("\"") else { return nil }
        let start = position
        while position < line.endIndex, line[position] != UInt8(ascii: "\"") {
            position += line[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard position < line.endIndex else { return nil }
        defer { position += 1 }
        return line[start..<position]
    }

    private mutating func skipSpace() {
        while position < line.endIndex, line[position] == UInt8(ascii: " ") { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < line.endIndex, line[position] == UInt8(ascii: character) else {
            return false
        }
        position += 1
        return true
    }
}
