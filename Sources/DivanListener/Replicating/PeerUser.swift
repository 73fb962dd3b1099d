// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP

/// The user in whose name a replication uses a database here: whose credentials go with the URL, or who has asked for the replication.
struct PeerUser: Sendable {
    private enum Proof: Sendable {
        case credentials(HTTPHeaders, of: ListenerUser?)
        case request(ListenerUser)
    }

    private let proof: Proof
    private let guardian: Guardian

    /// Makes one; nil where the database is used as an administrator uses it.
    ///
    /// - Parameters:
    ///   - credentials: The header fields that go with the URL of the database; nil where none do.
    ///   - asker: The user who asks; nil for an administrator.
    ///   - guardian: Knows the users.
    init?(_ credentials: HTTPHeaders?, _ asker: ListenerUser?, _ guardian: Guardian) {
        if let credentials {
            proof = .credentials(credentials, of: asker)
        } else if let asker {
            proof = .request(asker)
        } else {
            return nil
        }
        self.guardian = guardian
    }

    /// The user as of now.
    ///
    /// - Throws: `HTTPFailure` 401 when the credentials are wrong, or the account is gone or has another password.
    func user() throws -> ListenerUser {
        switch proof {
        case .credentials(let credentials, let asker):
            try guardian.user(showing: credentials, askedBy: asker)
        case .request(let user): try guardian.current(user)
        }
    }

    /// The name that is shown, whether it is right or not.
    var shownName: String {
        switch proof {
        case .credentials(let credentials, _): Guardian.name(in: credentials)
        case .request(let user): user.name ?? ""
        }
    }
}
