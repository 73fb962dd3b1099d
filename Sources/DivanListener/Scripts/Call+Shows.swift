// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// Show functions: a document as something else.
extension Call {
    /// Any method on `/{db}/_design/{ddoc}/_show/{name}` and `/{db}/_design/{ddoc}/_show/{name}/{doc}`
    func show() throws -> ListenerResponse {
        let functions = try functions("shows")
        let document = try scriptDocument()
        let tag = try showTag(functions.document, document)
        let isGet = ["GET", "HEAD"].contains(request.head.method)
        if isGet, Self.matches(headers["If-None-Match"], tag) {
            return ListenerResponse(status: 304).with("ETag", tag)
        }
        let request = try scriptRequest(id: scriptDocumentID, body: textBody())
        let answer = try functions.call(
            ["shows", name(1)], [document.text, ScriptText.text(.object(request))])
        guard answer[0]?.string == "resp", let value = answer[1] else {
            throw ScriptError.workerFailed
        }
        return try ScriptedAnswer(value).response().with("ETag", tag).with("Vary", "Accept")
    }

    /// Names what a show answers: the same until the design document or the document changes, for a user who has the
    /// same roles and asks for the same types.
    private func showTag(_ design: Document, _ document: ScriptDocument) throws -> String {
        let name = user.name.map { JSONValue.string($0).description } ?? ""
        let roles = JSONValue.array(user.roles.sorted().map { .string($0) }).description
        let hash = Fingerprint.of(
            try database.incarnation, design.revisionID.description, document.leaves,
            headers["Accept"] ?? "", name, roles)
        return "\"\(HexText.text(hash))\""
    }
}
