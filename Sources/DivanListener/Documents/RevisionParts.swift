// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// Writes revisions of documents as the parts of a multipart body, one after the other as the client takes them; one with
/// attachments is again multipart, with its own boundary.
///
/// Its length is not known beforehand, since the next document is read when the one before it was taken.
struct RevisionParts: ResponseSteps {
    /// Revisions of one document.
    enum Source: Sendable {
        /// What there is of it, with header fields of its own for each part, in a form.
        case of(WantedRevisions, HTTPHeaders, DocumentFormat)
        /// It cannot be asked for: a revision that is missing takes its place.
        case missing(RevisionID, HTTPHeaders)
    }

    private let call: Call
    private var writer: MultipartWriter
    private let count: Int
    private let source: @Sendable (Int) -> Source
    private var position = 0
    private var current: Source?
    /// The part that is being sent.
    private var part = DocumentParts()
    private var isDone = false

    /// Makes the steps of a list of documents, each of which is looked for when its turn comes.
    ///
    /// - Parameters:
    ///   - call: The request.
    ///   - kind: The kind of the multipart body: `mixed` or `related`.
    ///   - count: The number of documents.
    ///   - source: Gives one.
    init(
        _ call: Call, _ kind: String, count: Int, _ source: @escaping @Sendable (Int) -> Source
    ) {
        self.call = call
        self.count = count
        self.source = source
        writer = MultipartWriter(subtype: kind)
    }

    init(_ call: Call, _ kind: String, _ sources: [Source]) {
        self.init(call, kind, count: sources.count) { sources[$0] }
    }

    /// The answer.
    var response: ListenerResponse {
        ListenerResponse(status: 200, body: .stream(SteppedProducer(self), length: nil))
            .with("Content-Type", writer.contentType)
    }

    mutating func next() throws -> Production {
        while true {
            if case .bytes(let bytes) = try part.next() { return .bytes(bytes) }
            guard !isDone else { return .end }
            part = DocumentParts()
            guard try appendNext() else {
                isDone = true
                part.append(writer.end())
                continue
            }
        }
    }

    /// Makes the next part.
    ///
    /// - Returns: Whether there is one.
    private mutating func appendNext() throws -> Bool {
        while true {
            switch current {
            case nil:
                guard position < count else { return false }
                current = source(position)
                position += 1
            case .missing(let revision, let headers)?:
                current = nil
                try append(.missing(revision), headers, DocumentFormat())
                return true
            case .of(var wanted, let headers, let format)?:
                current = nil
                guard let answer = try wanted.next(call) else { continue }
                current = .of(wanted, headers, format)
                try append(format.whole(answer), headers, format)
                return true
            }
        }
    }

    /// Appends a part, with header fields of its own before those that tell its type.
    private mutating func append(
        _ answer: RevisionAnswer, _ headers: HTTPHeaders, _ format: DocumentFormat
    ) throws {
        var headers = headers
        var text = JSONText()
        switch answer {
        case .missing(let revision), .unreadable(let revision, _):
            text.value(["missing": .string(revision.description)])
            headers["Content-Type"] = "application/json; error=\"true\""
        case .found(let document, let tree):
            guard format.contents(of: document, tree).isEmpty else {
                let inner = MultipartWriter(subtype: "related")
                headers["Content-Type"] = inner.contentType
                part.append(writer.beginPart(headers))
                return try part.append(document, tree, format, by: inner)
            }
            try format.append(document, tree, to: &text)
            headers["Content-Type"] = "application/json"
        }
        part.append(writer.beginPart(headers))
        part.append(text.bytes)
    }
}
