// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// How a client changes a document.
enum ChangeKind: Sendable, Equatable {
    /// By an edit that is made here, of the given revision; of nil for a new document.
    case edit(of: RevisionID?)
    /// By a revision that was made elsewhere and brings its history.
    case arrival
}
