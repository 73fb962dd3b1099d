// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Reads a JSON object piece by piece, of which one member may be an array that is long: its elements come one
/// by one, the other members whole.
///
/// ```swift
/// var stream = JSONObjectStream(array: "docs", limit: 64 << 20)
/// stream.push(bytes)
/// while let event = try stream.next() {
///     switch event {
///     case .element(let text): take(try PackedValue(parsing: text.span))
///     case .member(let name, let text): options[name] = try JSONParser.parse(text)
///     default: break
///     }
/// }
/// ```
///
/// The members may come in any order. What is held is one element or member, never the whole. Grammar is checked
/// around the values; the values themselves are cut out by their brackets and checked by the caller that parses
/// them, so a value that cannot be parsed keeps none of the others back.
package struct JSONObjectStream: Sendable {
    /// What was read.
    package enum Event: Sendable, Equatable {
        /// The text of the next element of the array.
        case element([UInt8])
        /// The beginning of an element that is longer than allowed, where those are passed over.
        case longElement([UInt8])
        /// The name and the text of another member.
        case member(String, [UInt8])
        /// The object has ended.
        case ended
    }

    /// Why bytes cannot be read.
    package enum Failure: Error, Equatable {
        /// They are no JSON object, or something stands behind it.
        case malformed
        /// An element or a member is longer than allowed.
        case tooLong
    }

    private enum State {
        case beforeObject, firstKey, nextKey, key, colon, beforeValue, value
        case firstElement, nextElement, element, afterElement, afterValue, atEnd
    }

    /// What is kept of an element that is passed over: enough to tell whose it is.
    private static let beginning = 64 * 1_024
    private let array: String?
    private let limit: Int
    private let skipsLong: Bool
    private let patience: Int
    private var state = State.beforeObject
    private var cutter = JSONCutter()
    private var piece: [UInt8] = []
    /// The bytes that were passed over after `piece`.
    private var skipped = 0
    private var member = ""
    /// The text of the last member's name. Half of a surrogate pair may stand in it, which no `String` holds: the name is
    /// then given with a replacement character.
    package private(set) var nameText: [UInt8] = []
    private var input = InputBuffer()
    /// Whether the array was there.
    package private(set) var hasArray = false

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - array: The name of the member whose elements come one by one; nil for none.
    ///   - limit: The longest element or member, in bytes.
    ///   - skipsLong: Whether a longer element is passed over, and told of, in place of an error.
    ///   - patience: So many times the limit are read of an element that is passed over; one that comes over a network
    ///     may never end.
    package init(array: String?, limit: Int, skipsLong: Bool = false, patience: Int = 4) {
        self.array = array
        self.limit = limit
        self.skipsLong = skipsLong
        self.patience = patience
    }

    /// The bytes of the element or member that is coming in.
    package var heldBytes: Int { piece.count }

    /// Whether the object has begun.
    package var hasBegun: Bool { state != .beforeObject }

    /// How many bytes were read.
    package var position: Int { input.consumed }

    /// Whether the whole object was read.
    package var isAtEnd: Bool { state == .atEnd }

    /// Takes in the next bytes. Call ``next()`` until it answers `nil` before pushing more.
    package mutating func push(_ bytes: [UInt8]) { input.append(bytes[...]) }

    /// Returns the next event, or `nil` when it takes more bytes to tell.
    package mutating func next() throws(Failure) -> Event? {
        // Moved out and back, so that it is not copied.
        var taken = input
        input = InputBuffer()
        defer { input = taken }
        return try next(&taken)
    }

    mutating func next(_ input: inout InputBuffer) throws(Failure) -> Event? {
        while !input.isEmpty {
            switch state {
            case .key, .value, .element:
                guard try cut(&input) else { return nil }
                if let event = try takePiece() { return event }
            case .atEnd:
                guard skipWhite(&input) != nil else { return nil }
                throw .malformed
            default:
                guard let byte = skipWhite(&input) else { return nil }
                if try step(byte) { input.drop(1) }
                if state == .atEnd { return .ended }
            }
        }
        return nil
    }

    /// The first byte that is not white; white ones before it are dropped.
    private func skipWhite(_ input: inout InputBuffer) -> UInt8? {
        let rest = input.rest
        let found = rest.firstIndex { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
        input.drop((found ?? rest.endIndex) - rest.startIndex)
        return found.map { rest[$0] }
    }

    /// One step between values; answers whether the byte is used up by it.
    private mutating func step(_ byte: UInt8) throws(Failure) -> Bool {
        switch (state, byte) {
        case (.beforeObject, UInt8(ascii: "{")): state = .firstKey
        case (.firstKey, UInt8(ascii: "}")), (.afterValue, UInt8(ascii: "}")): state = .atEnd
        case (.firstKey, UInt8(ascii: "\"")), (.nextKey, UInt8(ascii: "\"")): return begin(.key)
        case (.colon, UInt8(ascii: ":")): state = .beforeValue
        case (.beforeValue, UInt8(ascii: "[")) where member.hasSameBytes(as: array) && !hasArray:
            hasArray = true
            state = .firstElement
        case (.beforeValue, _): return begin(.value)
        case (.firstElement, UInt8(ascii: "]")), (.afterElement, UInt8(ascii: "]")):
            state = .afterValue
        case (.firstElement, _), (.nextElement, _): return begin(.element)
        case (.afterElement, UInt8(ascii: ",")): state = .nextElement
        case (.afterValue, UInt8(ascii: ",")): state = .nextKey
        default: throw .malformed
        }
        return true
    }

    private mutating func begin(_ next: State) -> Bool {
        state = next
        cutter = JSONCutter()
        piece = []
        skipped = 0
        return false
    }

    /// Takes bytes of the value that is coming in; answers whether it is whole.
    private mutating func cut(_ input: inout InputBuffer) throws(Failure) -> Bool {
        let rest = input.rest
        let end = cutter.end(in: rest.span, from: 0)
        let taken = end ?? rest.count
        if skipped > 0 || piece.count + taken > limit {
            try skip(rest.prefix(taken))
        } else {
            piece += rest.prefix(taken)
        }
        input.drop(taken)
        // A value of no bytes is a comma or a bracket where one should be.
        guard end == nil || !piece.isEmpty else { throw .malformed }
        return end != nil
    }

    /// Passes over bytes of an element that is too long.
    private mutating func skip(_ bytes: ArraySlice<UInt8>) throws(Failure) {
        guard skipsLong, state == .element, (skipped + bytes.count) / patience <= limit else {
            throw .tooLong
        }
        if skipped == 0 {
            piece = Array(piece.prefix(Self.beginning))
            piece += bytes.prefix(Self.beginning - piece.count)
        }
        skipped += bytes.count
    }

    private mutating func takePiece() throws(Failure) -> Event? {
        defer { piece = [] }
        switch state {
        case .key:
            member = try Self.name(piece)
            nameText = piece
            state = .colon
            return nil
        case .element:
            state = .afterElement
            return skipped > 0 ? .longElement(piece) : .element(piece)
        default:
            state = .afterValue
            return .member(member, piece)
        }
    }

    private static func name(_ text: [UInt8]) throws(Failure) -> String {
        do {
            if let name = try JSONParser.parse(text).string { return name }
        } catch {
            if error.kind == .characters { return "\u{FFFD}" }
        }
        throw .malformed
    }
}
