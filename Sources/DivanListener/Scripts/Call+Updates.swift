// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// Update functions: a request becomes an edit of a document.
extension Call {
    /// Any method on `/{db}/_design/{ddoc}/_update/{name}` and `/{db}/_design/{ddoc}/_update/{name}/{doc}`
    ///
    /// What the function returns is saved as the user's own edit would be, with the same checks.
    func update() throws -> ListenerResponse {
        let functions = try functions("updates")
        let document = try scriptDocument()
        let request = try scriptRequest(id: scriptDocumentID, body: textBody())
        let answer = try functions.call(
            ["updates", name(1)], [document.text, ScriptText.text(.object(request))])
        guard answer[0]?.string == "up", let changed = answer[1], let value = answer[2] else {
            throw ScriptError.workerFailed
        }
        let scripted = try ScriptedAnswer(value)
        guard changed.isObject else { return scripted.response() }
        let received = try ReceivedDocument(changed)
        guard let id = received.id else {
            throw HTTPFailure.illegalID("Document id must not be empty")
        }
        guard !id.isLocal else {
            throw HTTPFailure.illegalID("An update function saves no local document.")
        }
        try checkID(id)
        let revision = try edit(id, received)
        return scripted.response(status: 201)
            .with("X-Couch-Update-NewRev", revision.description)
            .with("X-Couch-Id", PercentEncoding.encode(id.text))
    }
}
