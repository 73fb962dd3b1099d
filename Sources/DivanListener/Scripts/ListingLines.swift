// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// The rows of a listing one by one.
///
/// A listing is written with a line for each row, as CouchDB writes it. So what a list function gets is what a client of the view
/// gets, and there is one place that says what a user may see:
///
///     {"total_rows":2,"offset":0,"rows":[        the head
///     {"id":"a","key":1,"value":null},           a row
///     {"id":"b","key":2,"value":null}            a row
///     ]}                                         the end
struct ListingLines {
    private var listing: any ResponseSteps
    /// Whether the rows are of documents, whose errors list functions know in a form of their own.
    private let isOfDocuments: Bool
    private var piece: [UInt8] = []
    private var position = 0
    private var isAtEnd = false

    /// Reads a listing.
    init(_ listing: any ResponseSteps, isOfDocuments: Bool = false) {
        self.listing = listing
        self.isOfDocuments = isOfDocuments
    }

    /// What stands before the rows, as an object: `{"total_rows":2,"offset":0}`. It is read first.
    mutating func head() throws -> [UInt8] {
        var head = Array(try line() ?? [])
        head.removeLast(min(head.count, "\"rows\":[".utf8.count))
        if head.last == JSONByte.comma { head.removeLast() }
        head.append(JSONByte.closeBrace)
        return head
    }

    /// The next row; nil when there is no more.
    mutating func next() throws -> [UInt8]? {
        while let line = try line() {
            guard !line.isEmpty else { continue }
            if line.elementsEqual("]}".utf8) { break }
            let row = line.last == JSONByte.comma ? line.dropLast() : line
            return isOfDocuments ? try Self.known(row) : Array(row)
        }
        isAtEnd = true
        return nil
    }

    /// A row of a document; one that is not there is told in the words that list functions know.
    private static func known(_ row: ArraySlice<UInt8>) throws -> [UInt8] {
        guard !row.starts(with: #"{"id":"#.utf8) else { return Array(row) }
        let parsed = try JSONParser.parse(Array(row))
        var text = JSONText()
        text.value(["id": "error", "key": parsed["key"] ?? .null, "value": "not_found"])
        return text.bytes
    }

    /// The next line, without its end.
    private mutating func line() throws -> ArraySlice<UInt8>? {
        var looked = position
        while !isAtEnd {
            if let end = piece[looked...].firstIndex(of: JSONByte.lineFeed) {
                defer { position = end + 1 }
                return piece[position..<end]
            }
            let rest = piece[position...]
            looked = rest.count
            guard case .bytes(let bytes) = try listing.next() else {
                isAtEnd = true
                break
            }
            piece = rest + bytes
            position = 0
        }
        return nil
    }
}
