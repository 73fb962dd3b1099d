// SPDX-License-Identifier: Apache-2.0

/// Who makes a request, as its head shows.
///
/// The server finds it out before it takes the body, since the body of a stranger is bounded; the router uses what the
/// server has found.
package enum Identity: Sendable {
    /// A user, or a client that shows nothing.
    case known(ListenerUser)
    /// What the client shows is wrong, or too many clients show something at once.
    case refused(HTTPFailure)

    /// The user.
    ///
    /// - Throws: `HTTPFailure` when what the client shows is wrong.
    func user() throws -> ListenerUser {
        switch self {
        case .known(let user): user
        case .refused(let failure): throw failure
        }
    }

    /// Whether the client has shown who it is.
    var isProven: Bool {
        guard case .known(let user) = self else { return false }
        return user.method != nil || user.isAdmin
    }

    /// The answer where too many passwords wait to be checked.
    static let busy = Identity.refused(.tooManySignIns)
}

extension HTTPFailure {
    /// The answer where too many passwords wait to be checked.
    static let tooManySignIns = HTTPFailure(
        503, "too_many_sign_ins",
        "Too many clients sign in at once; try again in some seconds, or use a session.",
        headers: ["Retry-After": "5"])
}
