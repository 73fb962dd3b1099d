// SPDX-License-Identifier: Apache-2.0

/// How far a long operation of an engine has come.
///
/// An operation hands these to its progress callback now and then. It stops, undoing what must not
/// stay half done, when the callback throws, and rethrows that error.
public struct StorageProgress: Sendable, Equatable {
    /// The units done: pages or rows, as the operation says.
    public var completed: Int
    /// The units there are, which may grow while the operation runs.
    public var total: Int

    /// Makes a progress.
    public init(completed: Int, total: Int) {
        self.completed = completed
        self.total = total
    }
}

/// Receives the progress of a long operation, and stops it by throwing.
public typealias StorageProgressHandler = (StorageProgress) throws -> Void
