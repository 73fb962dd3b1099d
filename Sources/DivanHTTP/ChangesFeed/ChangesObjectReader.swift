// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Reads the normal form of a changes feed: one object, whose member `results` is an array of rows.
struct ChangesObjectReader: Sendable {
    private var stream: JSONObjectStream
    /// The members beside the rows that mean something; a server may send any others, of any length.
    private var others = JSONObject()
    private static let names: NameSet = ["error", "id", "last_seq", "pending", "reason"]
    private static let longest = 64 << 10

    init(limit: Int) { stream = JSONObjectStream(array: "results", limit: limit, skipsLong: true) }

    /// Whether the whole object was read.
    var isAtEnd: Bool { stream.isAtEnd }

    mutating func next(_ input: inout InputBuffer) throws(ChangesFeedParser.Failure)
        -> ChangesFeedParser.Event?
    {
        while let event = try read(&input) {
            switch event {
            case .element(let text):
                return .row(try ChangesFeedRow(parsing: text))
            case .longElement(let text):
                return .row(
                    ChangesFeedRow(unreadable: text, "Its row of the changes feed is too long."))
            case .member(let name, let text):
                guard Self.names.contains(name) else { continue }
                guard text.count <= Self.longest else { throw .malformed }
                others[name] = try ChangesFeedParser.parse(text[...])
            case .ended: return try end()
            }
        }
        return nil
    }

    private mutating func read(_ input: inout InputBuffer) throws(ChangesFeedParser.Failure)
        -> JSONObjectStream.Event?
    {
        do { return try stream.next(&input) } catch {
            throw error == .tooLong ? .rowTooLong : .malformed
        }
    }

    private func end() throws(ChangesFeedParser.Failure) -> ChangesFeedParser.Event {
        try ChangesFeedParser.throwRefusal(
            error: others["error"]?.string, others["reason"]?.string, isRow: others["id"] != nil)
        guard stream.hasArray else { throw .malformed }
        return .ended(
            others["last_seq"], pending: others["pending"]?.int64.map { Int(clamping: $0) })
    }
}
