// SPDX-License-Identifier: Apache-2.0

/// A term as CouchDB's configuration has it in Erlang's notation: texts in quotation marks, lists and tuples.
///
///     [{".{10,}"}, {"[A-Z]+", "Why."}]
enum ErlangTerm: Sendable, Equatable {
    case text(String)
    case list([ErlangTerm])
    case tuple([ErlangTerm])
    /// A number or an atom, which nothing here asks for.
    case other

    /// Reads a whole text; nil where it is no such term.
    init?(_ text: String) {
        var reader = Reader(rest: Array(text.utf8)[...])
        guard let term = reader.term(depth: 0), reader.isAtEnd else { return nil }
        self = term
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        /// A list of a list of … leads nowhere.
        private static let deepest = 8

        private mutating func skipSpace() {
            rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        }

        /// Whether nothing follows but white space, and the full stop that may end a term.
        var isAtEnd: Bool {
            mutating get {
                skipSpace()
                if rest.first == UInt8(ascii: ".") { rest.removeFirst() }
                skipSpace()
                return rest.isEmpty
            }
        }

        mutating func term(depth: Int) -> ErlangTerm? {
            skipSpace()
            guard depth < Self.deepest, let first = rest.first else { return nil }
            switch first {
            case UInt8(ascii: "\""):
                rest.removeFirst()
                return text()
            case UInt8(ascii: "["):
                rest.removeFirst()
                return terms(until: UInt8(ascii: "]"), depth: depth + 1).map(ErlangTerm.list)
            case UInt8(ascii: "{"):
                rest.removeFirst()
                return terms(until: UInt8(ascii: "}"), depth: depth + 1).map(ErlangTerm.tuple)
            default:
                let word = rest.prefix(while: Self.isOfWord)
                rest = rest.dropFirst(word.count)
                return word.isEmpty ? nil : .other
            }
        }

        private static func isOfWord(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
        }

        /// Terms with commas between them.
        private mutating func terms(until end: UInt8, depth: Int) -> [ErlangTerm]? {
            var terms: [ErlangTerm] = []
            skipSpace()
            if rest.first == end {
                rest.removeFirst()
                return terms
            }
            while let term = term(depth: depth) {
                terms.append(term)
                skipSpace()
                switch rest.popFirst() {
                case end: return terms
                case UInt8(ascii: ","): continue
                default: return nil
                }
            }
            return nil
        }

        /// What stands until the next quotation mark; a backslash makes a character of the next one.
        private mutating func text() -> ErlangTerm? {
            var bytes: [UInt8] = []
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""):
                    return String(validating: bytes, as: UTF8.self).map(ErlangTerm.text)
                case UInt8(ascii: "\\"):
                    guard let next = rest.popFirst() else { return nil }
                    bytes.append(Self.escapes[next] ?? next)
                default: bytes.append(byte)
                }
            }
            return nil
        }

        /// What stands for characters that are not seen; any other character stands for itself.
        private static let escapes: [UInt8: UInt8] = [
            UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
            UInt8(ascii: "s"): 0x20, UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0C,
            UInt8(ascii: "v"): 0x0B, UInt8(ascii: "e"): 0x1B, UInt8(ascii: "d"): 0x7F,
        ]
    }
}
