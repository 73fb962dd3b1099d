// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP

// ETags of lists: `_all_docs`, views, the normal feed.
extension Call {
    /// Names what a list shows now: where nothing was committed and nothing purged, the same request
    /// has the same answer.
    ///
    /// - Parameter detail: What the answer depends on besides the request and what is stored.
    /// - Returns: nil where that is not so: for a `POST`, and where the app decides who reads what.
    /// - Throws: `DatabaseError` when the database cannot be read.
    func listTag(_ detail: String = "") throws -> String? {
        guard request.head.method != "POST", !hidesDocuments else {
            return nil
        }
        let database = try database
        // Read before the list, so that a commit in between makes the next answer another one.
        let (sequence, purge) = try database.read {
            (try $0.lastSequence, try $0.lastPurge)
        }
        let settings = site.configuration.settings
        let limits = [settings.mostRows, settings.mostRowsOfPartition]
            .map { $0.map(String.init) ?? "" }.joined(separator: ",")
        let asked = Fingerprint.of(
            database.incarnation, request.head.target, "\(detail) \(limits)")
        return "\"\(HexText.text(asked))-\(sequence)-\(purge)\""
    }

    /// Answers with a list, or that it is still what the client has.
    func tagged(_ tag: String?, with list: () throws -> ListenerResponse) throws
        -> ListenerResponse
    {
        guard let tag else { return try list() }
        if Self.matches(headers["If-None-Match"], tag) {
            return ListenerResponse(status: 304).with("ETag", tag)
                .with("Cache-Control", "must-revalidate")
        }
        return try list().with("ETag", tag)
    }
}
