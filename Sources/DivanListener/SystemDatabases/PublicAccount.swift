// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// What a user may read of another one's account: the properties that `chttpd_auth/public_fields` names, where
// `chttpd_auth/users_db_public` is set. Both must be, as CouchDB's manual says.
extension Call {
    /// What an account has of its password. It is not public, whatever is configured.
    private static let secrets: NameSet = [
        "password", "password_sha", "password_scheme", "pbkdf2_prf", "iterations", "salt",
        "derived_key",
    ]

    /// Whether a request reads the account of another user, of which some properties are public.
    func mayReadPublicFields(_ route: Route) throws -> Bool {
        try route.method == "GET" && route.pattern == "/{db}/{doc}" && isOfAnotherUser
            && documentID.text.hasBytePrefix(UserDocument.prefix)
            && !site.configuration.settings.publicUserFields.isEmpty
    }

    /// Whether the path names a document of the users that is not the account of the user, who
    /// administers neither the listener nor the database.
    var isOfAnotherUser: Bool {
        get throws {
            try systemDatabase == .users && !user.isAdmin && !isOwnAccount(documentID)
                && !administersUsers
        }
    }

    /// `GET /_users/org.couchdb.user:{name}` for another user: the current revision alone, of which nothing but the public
    /// properties is told. An account that has none of these is as one that is not there.
    func publicAccount() throws -> ListenerResponse {
        guard let document = try readableDocument(documentID) else { throw HTTPFailure.missing }
        let revision = document.revisionID.description
        let asked = try queriedRevision()
        guard asked == nil || asked == document.revisionID, query["open_revs"] == nil else {
            throw HTTPFailure.missing
        }
        let body = document.body.jsonValue().object ?? [:]
        var shown: JSONObject = ["_id": .string(document.id.text), "_rev": .string(revision)]
        for name in site.configuration.settings.publicUserFields
        where !name.hasBytePrefix("_") && !Self.secrets.contains(name) {
            shown[name] = body[name]
        }
        guard shown.count > 2 else { throw HTTPFailure.missing }
        return ListenerResponse.json(.object(shown)).with("ETag", "\"\(revision)\"")
    }
}
