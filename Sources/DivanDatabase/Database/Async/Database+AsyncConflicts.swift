// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

// The suspending forms of resolving conflicts and of filtered changes.
extension Database {
    /// As the blocking form, off the calling task's thread.
    public func conflict(of id: String) async throws -> Conflict? {
        try await read { try $0.conflict(of: id) }
    }

    /// As the blocking form, off the calling task's thread.
    @discardableResult
    public func resolve(_ conflict: Conflict, by resolution: ConflictResolution) async throws
        -> Document
    {
        try await write { try $0.resolve(conflict, by: resolution) }
    }

    /// As the blocking form, off the calling task's thread, the resolver as well.
    @discardableResult
    public func resolveConflicts(of id: String, with resolver: some ConflictResolver) async throws
        -> Document?
    {
        try await BlockingWork.runCancellably { [self] flag in
            try resolveConflicts(of: id) { conflict in
                try flag.check()
                return try resolver.resolve(conflict)
            }
        }
    }

    /// As the blocking form, off the calling task's thread, the resolver as well; cancelling the task
    /// stops the work.
    @discardableResult
    public func resolveConflicts(with resolver: some ConflictResolver) async throws
        -> ConflictReport
    {
        try await BlockingWork.runCancellably { [self] flag in
            try resolveConflicts(
                with: resolver, progress: { _ in try flag.check() })
        }
    }

    /// As the blocking form, off the calling task's thread, the filter as well.
    public func changes(
        since sequence: SequenceNumber = 0, limit: Int? = nil, filter name: String,
        parameters: JSONObject = [:]
    ) async throws -> ChangesBatch {
        try await BlockingWork.runCancellably { [self] _ in
            try changes(since: sequence, limit: limit, filter: name, parameters: parameters)
        }
    }
}
