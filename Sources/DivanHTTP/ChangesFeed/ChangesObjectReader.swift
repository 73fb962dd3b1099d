// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Reads the normal form of a changes feed: one object, whose member `results` is an array of rows.
///
/// The object's members may come in any order. Each value but `results` is held and parsed whole.
struct ChangesObjectReader: Sendable {
    private enum State {
        case beforeObject, beforeKey, key, colon, beforeValue, value
        case beforeRow, row, afterRow, afterValue, atEnd
    }

    private let limit: Int
    private var state = State.beforeObject
    private var cutter = JSONCutter()
    private var piece: [UInt8] = []
    private var member = ""
    private var others = JSONObject()
    private var hasResults = false

    init(limit: Int) { self.limit = limit }

    /// Whether the whole object was read.
    var isAtEnd: Bool { state == .atEnd }

    mutating func next(_ input: inout InputBuffer) throws(ChangesFeedParser.Failure)
        -> ChangesFeedParser.Event?
    {
        while !input.isEmpty {
            switch state {
            case .key, .value, .row:
                guard try cut(&input) else { return nil }
                if let event = try takePiece() { return event }
            case .atEnd:
                guard skipWhite(&input) != nil else { return nil }
                throw .malformed
            default:
                guard let byte = skipWhite(&input) else { return nil }
                if try step(byte) { input.drop(1) }
                if state == .atEnd { return try end() }
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
    private mutating func step(_ byte: UInt8) throws(ChangesFeedParser.Failure) -> Bool {
        switch (state, byte) {
        case (.beforeObject, UInt8(ascii: "{")): state = .beforeKey
        case (.beforeKey, UInt8(ascii: "}")), (.afterValue, UInt8(ascii: "}")): state = .atEnd
        case (.beforeKey, UInt8(ascii: "\"")): return begin(.key)
        case (.colon, UInt8(ascii: ":")): state = .beforeValue
        case (.beforeValue, UInt8(ascii: "[")) where member == "results" && !hasResults:
            hasResults = true
            state = .beforeRow
        case (.beforeValue, _): return begin(.value)
        case (.beforeRow, UInt8(ascii: "]")), (.afterRow, UInt8(ascii: "]")): state = .afterValue
        case (.beforeRow, UInt8(ascii: "{")): return begin(.row)
        case (.afterRow, UInt8(ascii: ",")): state = .beforeRow
        case (.afterValue, UInt8(ascii: ",")): state = .beforeKey
        default: throw .malformed
        }
        return true
    }

    private mutating func begin(_ next: State) -> Bool {
        state = next
        cutter = JSONCutter()
        piece.removeAll(keepingCapacity: piece.capacity <= 64 * 1_024)
        return false
    }

    /// Takes bytes of the value that is coming in; answers whether it is whole.
    private mutating func cut(_ input: inout InputBuffer) throws(ChangesFeedParser.Failure) -> Bool
    {
        let rest = input.rest
        let end = cutter.end(in: rest.span, from: 0)
        let taken = end ?? rest.count
        guard piece.count + taken <= limit else { throw .rowTooLong }
        piece += rest.prefix(taken)
        input.drop(taken)
        return end != nil
    }

    private mutating func takePiece() throws(ChangesFeedParser.Failure) -> ChangesFeedParser.Event?
    {
        let json = try ChangesFeedParser.parse(piece[...])
        switch state {
        case .key:
            member = json.string ?? ""
            state = .colon
        case .row:
            state = .afterRow
            guard let row = ChangesFeedRow(json) else {
                try ChangesFeedParser.throwRefusal(in: json)
                throw .malformed
            }
            return .row(row)
        default:
            others[member] = json
            state = .afterValue
        }
        return nil
    }

    private func end() throws(ChangesFeedParser.Failure) -> ChangesFeedParser.Event {
        try ChangesFeedParser.throwRefusal(in: .object(others))
        guard hasResults else { throw .malformed }
        return .ended(
            others["last_seq"], pending: others["pending"]?.int64.map { Int($0) })
    }
}
