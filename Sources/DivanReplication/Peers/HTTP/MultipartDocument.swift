// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// A document and its attachments as the body of a PUT, which streams from the disk.
enum MultipartDocument {
    /// Makes the body: `multipart/related`, the document first.
    ///
    /// - Throws: `DatabaseError` when the length of content is not known.
    static func body(_ document: WireDocument, in database: Database) throws -> WireRequest.Body {
        // The order of names, in which the text has them.
        let names = document.inlineContents.keys.sortedByName
        var text: [UInt8] = []
        document.appendJSON(
            to: &text, contents: document.inlineContents.mapValues { _ in .follows })
        let writer = MultipartWriter(subtype: "related")
        var parts: [(headers: HTTPHeaders, length: Int)] = [
            (["Content-Type": "application/json"], text.count)
        ]
        var contents: [(name: String, content: AttachmentContent)] = []
        for name in names {
            guard let content = document.inlineContents[name],
                let length = content.knownLength
            else {
                throw DatabaseError(
                    .attachmentNotFound,
                    "The length of an attachment of '\(document.id?.text ?? "")' is "
                        + "not known.", documentID: document.id)
            }
            var headers: HTTPHeaders = [
                "Content-Disposition": HeaderParameters.disposition(ofAttachment: name),
                "Content-Type": document.body["_attachments"]?[name]?["content_type"]?.string
                    ?? "application/octet-stream",
                "Content-Length": String(length),
            ]
            if content.isCoded { headers.add("Content-Encoding", "gzip") }
            parts.append((headers, length))
            contents.append((name, content))
        }
        let length = writer.length(of: parts)
        let id = document.id ?? ""
        let (fixedText, fixedParts, fixedContents) = (text, parts, contents)
        return .pieces(length: length, type: writer.contentType) {
            MultipartPieces(
                writer, fixedText, fixedParts.map(\.headers),
                fixedContents.map { name, content in { try content.makeCheckedReader(name, of: id) }
                },
                database)
        }
    }
}

/// The pieces of such a body, read from the disk one by one.
actor MultipartPieces: WirePieces {
    private enum Step {
        case bytes([UInt8])
        case content(@Sendable () throws -> any AttachmentReader)
    }

    private static let pieceSize = 128 * 1_024
    private let database: Database
    private var steps: [Step] = []
    private var reader: (any AttachmentReader)?

    init(
        _ writer: MultipartWriter, _ text: [UInt8], _ headers: [HTTPHeaders],
        _ contents: [@Sendable () throws -> any AttachmentReader], _ database: Database
    ) {
        self.database = database
        var writer = writer
        var steps: [Step] = []
        for (index, header) in headers.enumerated() {
            steps.append(.bytes(writer.beginPart(header) + (index == 0 ? text : [])))
            if index > 0 { steps.append(.content(contents[index - 1])) }
        }
        steps.append(.bytes(writer.end()))
        self.steps = steps
    }

    func next() async throws -> [UInt8]? {
        while true {
            if let reader {
                let piece = try await database.background { try reader.read(upTo: Self.pieceSize) }
                if !piece.isEmpty { return piece }
                self.reader = nil
            }
            guard !steps.isEmpty else { return nil }
            switch steps.removeFirst() {
            case .bytes(let bytes): return bytes
            case .content(let open):
                reader = try await database.background { try open() }
            }
        }
    }
}
