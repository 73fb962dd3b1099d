// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP

/// What the body of a route is, and so how long its JSON may be.
///
///                 a stranger    a user                    an administrator
///     setting     64 kB         64 kB                     64 kB
///     query       64 kB         8 MB, 500,000 values      as a document
///     selector    64 kB         the same                  as a document
///     document    64 kB         64 MB                     64 MB
///     documents   64 kB         64 MB each, 4 GiB         the same
///
/// These bound one request. What it may take of memory is bounded for all of them together: see `MemoryBudget`.
enum BodyKind: Sendable {
    /// A name and a password, a number.
    case setting
    /// A list of names and revisions.
    case query
    /// A question with a selector, which becomes something to run.
    case selector
    /// One document.
    case document
    /// Documents that are read one by one.
    case documents

    /// What it becomes in memory.
    var form: JSONWeight.Form {
        switch self {
        case .document, .documents: .packed
        case .setting, .query: .values
        case .selector: .selector
        }
    }

    /// The bounds for a user.
    func limits(for user: ListenerUser, _ limits: ListenerLimits) -> BodyMeasure.Limits {
        var allowed: BodyMeasure.Limits
        switch self {
        case .setting: allowed = .init(bytes: min(limits.jsonBody, Router.strangersBody))
        case .query where !user.isAdmin, .selector where !user.isAdmin:
            allowed = .init(
                bytes: min(limits.jsonBody, limits.queryBody), values: limits.queryValues)
        case .query, .selector, .document: allowed = .init(bytes: limits.jsonBody)
        case .documents: allowed = .init(bytes: limits.requestBody)
        }
        if user.method == nil, !user.isAdmin {
            allowed.bytes = min(allowed.bytes, Router.strangersBody)
        }
        return allowed
    }
}
