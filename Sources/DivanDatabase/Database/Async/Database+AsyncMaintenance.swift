// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

// The suspending forms of long work on a whole database. Cancelling the task stops the work at its
// next report.
extension Database {
    /// As the blocking form, off the calling task's thread.
    public static func open(
        at url: URL, options: DatabaseOptions = DatabaseOptions()
    ) async throws -> Database {
        try await BlockingWork.run { try open(at: url, options: options) }
    }

    /// As the blocking form, off the calling task's thread.
    public func delete() async throws {
        try await BlockingWork.run { [self] in try delete() }
    }

    /// As the blocking form, off the calling task's thread.
    public func sync() async throws {
        try await BlockingWork.run { [self] in try sync() }
    }

    /// As the blocking form, off the calling task's thread; cancelling the task stops the work.
    @discardableResult
    public func compact() async throws -> CompactionResult {
        try await BlockingWork.runCancellably { [self] flag in
            try compact { _ in try flag.check() }
        }
    }

    /// As the blocking form, off the calling task's thread; cancelling the task stops the work.
    public func verify() async throws -> [VerificationProblem] {
        try await BlockingWork.runCancellably { [self] flag in
            try verify { _ in try flag.check() }
        }
    }

    /// As the blocking form, off the calling task's thread; cancelling the task stops the work and
    /// leaves what was copied by then.
    public static func salvage(
        from source: URL, to destination: URL, encryptionKey: EncryptionKey? = nil
    ) async throws
        -> SalvageResult
    {
        try await BlockingWork.runCancellably { flag in
            try salvage(from: source, to: destination, encryptionKey: encryptionKey) { _ in
                try flag.check()
            }
        }
    }

    /// As the blocking form, off the calling task's thread; cancelling the task stops the work.
    @discardableResult
    public func purgeExpired() async throws -> Int {
        try await BlockingWork.runCancellably { [self] flag in
            try purgeExpired { _ in try flag.check() }
        }
    }
}
