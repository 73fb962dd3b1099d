// SPDX-License-Identifier: Apache-2.0

/// Lays out valid JSON text anew, indented or on one line, in colour or without.
///
/// It works on tokens, never on values: numbers keep their digits and objects the order of their
/// keys, whatever they are. Text that is not valid JSON comes out as some other text that is not.
///
/// Control characters that JSON lets stand in a string, and that a terminal would obey, are escaped.
struct JSONLayout {
    private let isIndented: Bool
    private let isColored: Bool
    private var depth = 0
    private var output: [UInt8] = []

    /// Returns the text with one property or element a line.
    static func indented(_ text: Span<UInt8>, colored: Bool = false) -> [UInt8] {
        var layout = JSONLayout(isIndented: true, isColored: colored)
        return layout.run(text)
    }

    /// Returns the text on one line.
    static func compact(_ text: Span<UInt8>, colored: Bool = false) -> [UInt8] {
        var layout = JSONLayout(isIndented: false, isColored: colored)
        return layout.run(text)
    }

    private init(isIndented: Bool, isColored: Bool) {
        self.isIndented = isIndented
        self.isColored = isColored
    }

    private mutating func run(_ text: Span<UInt8>) -> [UInt8] {
        output.reserveCapacity(text.count * 2)
        var i = 0
        while i < text.count {
            let byte = text[i]
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
                i += 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                i = open(byte, text, after: i)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                newLine()
                output.append(byte)
                i += 1
            case UInt8(ascii: ","):
                output.append(byte)
                newLine()
                i += 1
            case UInt8(ascii: ":"):
                output.append(byte)
                if isIndented { output.append(UInt8(ascii: " ")) }
                i += 1
            default:
                i = scalar(text, from: i)
            }
        }
        return output
    }

    /// Opens a container, and closes it at once if there is nothing in it.
    private mutating func open(_ byte: UInt8, _ text: Span<UInt8>, after i: Int) -> Int {
        output.append(byte)
        let next = Self.skipSpace(text, from: i + 1)
        if next < text.count, text[next] == UInt8(ascii: "}") || text[next] == UInt8(ascii: "]") {
            output.append(text[next])
            return next + 1
        }
        depth += 1
        newLine()
        return i + 1
    }

    private mutating func scalar(_ text: Span<UInt8>, from start: Int) -> Int {
        let end = Self.endOfScalar(text, from: start)
        guard isColored else {
            appendEscaping(text.extracting(start..<end))
            return end
        }
        let style: TextStyle
        switch text[start] {
        case UInt8(ascii: "\""):
            let next = Self.skipSpace(text, from: end)
            let isKey = next < text.count && text[next] == UInt8(ascii: ":")
            style = isKey ? .key : .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): style = .literal
        default: style = .number
        }
        output += style.start.utf8
        appendEscaping(text.extracting(start..<end))
        output += TextStyle.reset.utf8
        return end
    }

    private mutating func appendEscaping(_ bytes: Span<UInt8>) {
        var i = 0
        while i < bytes.count {
            if let control = Self.control(bytes, at: i) {
                let digits = String(control.scalar, radix: 16)
                output += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
                i += control.length
            } else {
                output.append(bytes[i])
                i += 1
            }
        }
    }

    /// DEL, C1, and the marks that break or reorder lines, in their UTF-8 forms.
    private static func control(_ bytes: Span<UInt8>, at i: Int) -> (scalar: Int, length: Int)? {
        if bytes[i] == 0x7F { return (0x7F, 1) }
        if bytes[i] == 0xC2, i + 1 < bytes.count, bytes[i + 1] < 0xA0 {
            return (Int(clamping: bytes[i + 1]), 2)
        }
        guard bytes[i] == 0xE2, i + 2 < bytes.count else { return nil }
        switch (bytes[i + 1], bytes[i + 2]) {
        case (0x80, 0xA8...0xAE): return (0x2000 + Int(clamping: bytes[i + 2]) - 0x80, 3)
        case (0x81, 0xA6...0xA9): return (0x2040 + Int(clamping: bytes[i + 2]) - 0x80, 3)
        default: return nil
        }
    }

    private mutating func newLine() {
        guard isIndented else { return }
        output.append(UInt8(ascii: "\n"))
        output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * max(0, depth)))
    }

    private static func skipSpace(_ text: Span<UInt8>, from start: Int) -> Int {
        var i = start
        while i < text.count, text[i] <= UInt8(ascii: " ") { i += 1 }
        return i
    }

    private static func endOfScalar(_ text: Span<UInt8>, from start: Int) -> Int {
        var i = start + 1
        if text[start] == UInt8(ascii: "\"") {
            while i < text.count, text[i] != UInt8(ascii: "\"") {
                i += text[i] == UInt8(ascii: "\\") ? 2 : 1
            }
            return min(i + 1, text.count)
        }
        while i < text.count, !",]}:{[ \n\r\t".utf8.contains(text[i]) { i += 1 }
        return i
    }
}
