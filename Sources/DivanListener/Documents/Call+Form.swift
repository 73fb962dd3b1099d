// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// A browser's form that uploads files to a document.
///
///     _rev          the revision that gets them          or _doc, the whole document as JSON
///     _attachments  a file, with its name and type       as often as there are files
struct UploadForm {
    /// A file: what it is, and where in the body it lies.
    struct File {
        var name: String
        var contentType: String
        var range: Range<Int>
    }

    private(set) var document: Range<Int>?
    private(set) var revision: Range<Int>?
    private(set) var files: [File] = []

    /// Finds the fields in a body. Of files with one name the last one counts; a field without a file is passed over.
    init(_ body: RequestBody, boundary: String) throws {
        var places: NameMap<Int> = [:]
        for part in try MultipartIndex(body, boundary: boundary).parts {
            let disposition = HeaderParameters(part.disposition ?? "")
            switch disposition["name"] {
            case "_doc": document = part.range
            case "_rev": revision = part.range
            case "_attachments":
                guard let name = disposition["filename"], !name.isEmpty else { continue }
                let file = File(
                    name: name, contentType: part.contentType ?? "application/octet-stream",
                    range: part.range)
                if let place = places[name] {
                    files[place] = file
                } else {
                    places[name] = files.count
                    files.append(file)
                }
            default: continue
            }
        }
    }
}

// POST of a form to a document.
extension Call {
    /// `POST /{db}/{doc}`: gives a document the files of a form
    func postForm() throws -> ListenerResponse {
        try checkReferer()
        let id = documentID
        try checkID(id)
        let type = HeaderParameters(headers["Content-Type"] ?? "")
        guard type.value == "multipart/form-data",
            let boundary = MultipartReader.boundary(in: headers["Content-Type"])
        else {
            throw HTTPFailure(
                415, "bad_content_type", "Content-Type must be multipart/form-data")
        }
        let form = try UploadForm(request.body, boundary: boundary)
        var received = try received(of: form, id)
        let base = try baseRevision(received.revision)
        var entries = received.body["_attachments"]?.jsonValue().object ?? [:]
        var contents: NameMap<AttachmentContent> = [:]
        for file in form.files {
            guard file.range.count <= site.configuration.settings.longestAttachment else {
                throw HTTPFailure.attachmentTooLarge(file.name)
            }
            contents[file.name] = .stream(BodyReader(request.body, file.range))
            entries[file.name] = ["content_type": .string(file.contentType), "follows": true]
        }
        if !entries.isEmpty {
            received.body = received.body.replacing(["_attachments": .object(entries)])
        }
        try received.checkLengths(site.configuration.settings)
        return written(id, try edit(id, received, contents, base: base))
    }

    /// The document that gets the files: the form's own, or the revision that it names.
    private func received(of form: UploadForm, _ id: DocumentID) throws -> ReceivedDocument {
        if let range = form.document {
            do {
                return try ReceivedDocument(
                    PackedValue(parsing: MultipartDocument.text(in: range, self)))
            } catch let failure as JSONParser.Failure {
                throw HTTPFailure.json(failure, "The field `_doc`")
            }
        }
        guard let range = form.revision else { return try ReceivedDocument(PackedValue([:])) }
        guard range.count <= Self.longestRevision else { throw HTTPFailure.invalidRevision }
        let bytes = try request.body.bytes(in: range)
        guard let text = String(validUTF8: bytes.span) else { throw HTTPFailure.invalidRevision }
        let revision = try Self.checked(Self.revision(text))
        var received = try ReceivedDocument(edited(id, revision).body)
        received.revision = revision
        return received
    }

    /// The longest field that can be a revision ID.
    private static let longestRevision = 1_024
}
