// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

/// A document that came as `multipart/related`: its JSON, then the content of its attachments.
enum MultipartDocument {
    /// Takes such a body apart; contents are named by their parts' file names or, where these are
    /// missing, by the order of the entries that say `follows`.
    ///
    /// - Throws: `HTTPFailure` 400 when the body is malformed, or parts and entries do not match; 413 when one is
    ///   longer than it may be.
    static func receive(_ call: Call, boundary: String) throws -> (
        ReceivedDocument, NameMap<AttachmentContent>
    ) {
        let body = call.request.body
        let parts = try MultipartIndex(body, boundary: boundary).parts
        guard let first = parts.first else {
            throw HTTPFailure.badRequest("The multipart body has no document.")
        }
        let text = try text(in: first.range, call)
        let document: ReceivedDocument
        let names: [String]
        do {
            document = try ReceivedDocument(PackedValue(parsing: text))
            names = following(in: text)
        } catch let failure as JSONParser.Failure {
            throw HTTPFailure.json(failure, "The document")
        }

        let known = NameSet(names)
        var contents: NameMap<AttachmentContent> = [:]
        for (index, part) in parts.dropFirst().enumerated() {
            let given = part.disposition.flatMap { HeaderParameters($0)["filename"] }
            let name =
                given.flatMap { known.contains($0) ? $0 : nil }
                ?? (names.indices.contains(index) ? names[index] : nil)
            guard let name, contents[name] == nil else {
                throw HTTPFailure.badRequest("A part of the body belongs to no attachment.")
            }
            guard part.range.count <= call.site.configuration.settings.longestAttachment else {
                throw HTTPFailure.attachmentTooLarge(name)
            }
            contents[name] = .stream(BodyReader(body, part.range))
        }
        guard contents.count == names.count else {
            throw HTTPFailure.badRequest("The content of an attachment does not follow.")
        }
        return (document, contents)
    }

    /// The text of a document that lies in a part of the body.
    ///
    /// - Throws: `HTTPFailure` 413 when it is longer than a document may be, 503 when others take the memory.
    static func text(in range: Range<Int>, _ call: Call) throws -> [UInt8] {
        func pieces() throws -> BodyPieces {
            try BodyPieces(BodyReader(call.request.body, range), coding: nil)
        }
        let measure = try BodyMeasure(pieces(), within: call.bodyLimits)
        try call.reserve(measure.cost(of: .document))
        return try pieces().all(range.count)
    }

    /// The names of the attachments whose content follows, in the order of the text, which the packed form does not keep.
    /// No value is made of more than one entry at a time.
    static func following(in text: [UInt8]) -> [String] {
        var entries: [UInt8] = []
        forEachMember(of: text) { name, value in
            if name.hasSameBytes(as: "_attachments") { entries = value }
        }
        // Of two entries of one name the last one counts; the place of the first stays empty, since it would take long to close up.
        var (names, places) = ([String?](), NameMap<Int>())
        forEachMember(of: entries) { name, value in
            if let place = places.removeValue(forKey: name) { names[place] = nil }
            let entry = try? PackedValue(parsing: value)
            guard entry?["follows"]?.bool == true else { return }
            places[name] = names.count
            names.append(name)
        }
        return names.compactMap { $0 }
    }

    /// Calls a closure with the name and the text of each member of an object; with none where a text is something else.
    private static func forEachMember(of text: [UInt8], _ body: (String, [UInt8]) -> Void) {
        var stream = JSONObjectStream(array: nil, limit: text.count)
        stream.push(text)
        while let event = try? stream.next() {
            if case .member(let name, let value) = event { body(name, value) }
        }
    }
}
