// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Reads the forms of a changes feed that come line by line: continuous and event source.
///
/// Lines end with LF or CR LF. An empty line is a heartbeat in a continuous feed; among server-sent
/// events it closes an event.
struct ChangesLineReader: Sendable {
    private let isEventSource: Bool
    private let limit: Int
    private var line: [UInt8] = []
    /// The data of the server-sent event that is coming in.
    private var data: [UInt8] = []
    private var hasFields = false
    private var hasEnded = false

    init(isEventSource: Bool, limit: Int) {
        self.isEventSource = isEventSource
        self.limit = limit
    }

    /// Whether nothing is left over that more bytes would have to complete.
    var isBetweenRows: Bool { line.isEmpty && data.isEmpty }

    mutating func next(_ input: inout InputBuffer) throws(ChangesFeedParser.Failure)
        -> ChangesFeedParser.Event?
    {
        while !input.isEmpty {
            let rest = input.rest
            let feed = rest.firstIndex(of: UInt8(ascii: "\n"))
            let taken = feed ?? rest.endIndex
            guard line.count + data.count + (taken - rest.startIndex) <= limit else {
                throw .rowTooLong
            }
            line += rest[..<taken]
            input.drop((feed.map { $0 + 1 } ?? taken) - rest.startIndex)
            guard feed != nil else { return nil }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            defer { line.removeAll(keepingCapacity: line.capacity <= 64 * 1_024) }
            if let event = try isEventSource ? readField() : readLine() { return event }
        }
        return nil
    }

    private mutating func readLine() throws(ChangesFeedParser.Failure) -> ChangesFeedParser.Event? {
        line.allSatisfy { $0 == 0x20 || $0 == 0x09 } ? .heartbeat : try readRow(line[...])
    }

    private mutating func readRow(_ bytes: ArraySlice<UInt8>) throws(ChangesFeedParser.Failure)
        -> ChangesFeedParser.Event?
    {
        // Behind `last_seq` nothing belongs to the feed.
        guard !hasEnded else { throw .malformed }
        let row = try ChangesFeedRow(parsing: Array(bytes))
        guard row.problem != nil, row.documentID.isEmpty else { return .row(row) }
        let outline = JSONOutline(bytes, of: ["seq", "last_seq", "pending", "results"])
        // A whole feed on one line is the answer of a server that does not know this form.
        guard outline.isWhole, outline["results"] == nil else { throw .malformed }
        if outline["seq"] != nil { return .row(row) }
        guard let last = outline["last_seq"] else { throw .malformed }
        hasEnded = true
        return .ended(last, pending: outline["pending"]?.int64.map { Int(clamping: $0) })
    }

    /// Reads a line `name: value` of a server-sent event. Only `data` counts: the row has its own sequence.
    private mutating func readField() throws(ChangesFeedParser.Failure) -> ChangesFeedParser.Event?
    {
        guard !line.isEmpty else { return try endEvent() }
        if line.first == UInt8(ascii: ":") { return .heartbeat }
        hasFields = true
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        guard line[..<colon].elementsEqual("data".utf8) else { return nil }
        var value = line[min(colon + 1, line.endIndex)...]
        if value.first == 0x20 { value = value.dropFirst() }
        if !data.isEmpty { data.append(UInt8(ascii: "\n")) }
        data += value
        return nil
    }

    private mutating func endEvent() throws(ChangesFeedParser.Failure) -> ChangesFeedParser.Event? {
        defer {
            data.removeAll(keepingCapacity: data.capacity <= 64 * 1_024)
            hasFields = false
        }
        guard hasFields else { return nil }
        return data.isEmpty ? .heartbeat : try readRow(data[...])
    }
}
