// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// One of the documents of a request: taken apart, or refused for what it is.
enum BulkItem: Sendable {
    case document(ReceivedDocument)
    case refused(RefusedDocument)

    /// Takes a document; nil for an event that is none.
    ///
    /// - Throws: `HTTPFailure` 400 when the text is no JSON: then nothing says where the next one begins.
    init?(_ event: JSONObjectStream.Event) throws {
        switch event {
        case .element(let text): self = try Self.document(text)
        case .longElement(let text):
            self = .refused(
                RefusedDocument(
                    text,
                    HTTPFailure(
                        413, "document_too_large", "The document is longer than a JSON body may be."
                    ).ofDocument))
        default: return nil
        }
    }

    /// How many bytes its ID has.
    var nameLength: Int {
        switch self {
        case .document(let document): document.id?.text.utf8.count ?? 0
        case .refused(let refused): refused.id?.count ?? 0
        }
    }

    private static func document(_ text: [UInt8]) throws -> BulkItem {
        do {
            return .document(try ReceivedDocument(PackedValue(parsing: text)))
        } catch let failure as JSONParser.Failure {
            let failure = HTTPFailure.json(failure, "The document")
            guard failure.concernsDocument else { throw failure }
            return .refused(RefusedDocument(text, failure))
        } catch let failure as HTTPFailure {
            return .refused(RefusedDocument(text, failure))
        }
    }
}

/// What an answer tells of a document that was not taken: its names, as far as they can be read.
struct RefusedDocument: Sendable {
    /// The text of the ID in JSON as it was sent; it may hold what no `String` can.
    private(set) var id: [UInt8]?
    private(set) var revision: RevisionID?
    let failure: HTTPFailure

    /// A document whose names are known.
    init(_ id: DocumentID, _ revision: RevisionID?, _ failure: HTTPFailure) {
        var quoted = JSONText()
        quoted.string(id.text)
        (self.id, self.revision, self.failure) = (quoted.bytes, revision, failure)
    }

    /// Looks for the names in the text of a document, or in the beginning of one. What stands beside them is
    /// stepped over, whatever it is.
    init(_ text: [UInt8], _ failure: HTTPFailure) {
        self.failure = failure
        var stream = JSONObjectStream(array: nil, limit: text.count)
        stream.push(text)
        while id == nil || revision == nil, let event = try? stream.next() {
            guard case .member(let name, let value) = event else { continue }
            switch name {
            case "_id": id = Self.isText(value) ? value : nil
            case "_rev": revision = (try? JSONParser.parse(value))?.string.map { RevisionID($0) }
            default: break
            }
        }
    }

    /// Six bytes in JSON for each byte of the longest ID, and the quotes.
    private static let longestID = 6 * 4_096 + 2

    /// Whether a value may stand in an answer as it is: a string, of bytes that are UTF-8, and not longer than IDs are.
    private static func isText(_ value: [UInt8]) -> Bool {
        value.count <= longestID && value.first == UInt8(ascii: "\"")
            && String(validating: value, as: UTF8.self) != nil
    }
}
