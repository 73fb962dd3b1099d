// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanLogging
internal import DivanSystem

/// Brings the content of one attachment: as often as it takes, and each time from where it stood.
///
///     open from `length` ──► pieces ──► a temporary file ──► length, digest ──► the store
///       ▲                      │ broke off, busy, unreachable
///       └── after a while ◄────┘ at most as often as the policy says without a byte of progress
struct AttachmentDownload {
    let attachment: DocumentAttachment
    let wanted: WantedAttachment
    let source: any AttachmentSource
    let database: Database
    let policy: RetryPolicy
    let progress: (@Sendable (WorkProgress) throws -> Void)?

    /// What the app's closure threw: not a failure of the transfer.
    private struct Stopped: Error { let error: any Error }

    /// - Throws: `ReplicationError`, `CancellationError`, and what `progress` throws.
    func run() async throws {
        var content = try await begin()
        var retries = RetryCount(policy, isContinuous: false)
        while true {
            let reached = content.length
            do {
                try await receive(into: &content)
                return try await content.supply(from: source.name)
            } catch let stopped as Stopped {
                throw stopped.error
            } catch {
                if error is CancellationError || Task.isCancelled { throw CancellationError() }
                let error = Self.failure(error)
                let run = RetryCount.Run(hasMoved: content.length > reached)
                let delay = retries.fail(error, after: run, random: Double.random(in: 0...1))
                guard let delay else { throw retries.givingUp(error) }
                Log.replication.warning(
                    "The download of an attachment goes on in \(delay.words), after try \(retries.failures): \(error.logged)"
                )
                try await Task.sleep(for: delay)
            }
        }
    }

    private func begin() async throws -> AwaitedContent {
        do {
            return try await database.background { [attachment, database] in
                try AwaitedContent(of: attachment, in: database)
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch { throw ReplicationError(error) }
    }

    private func receive(into content: inout AwaitedContent) async throws {
        let arriving = try await source.open(wanted, from: content.length)
        if arriving.start != content.length { content = try await begin() }
        try tell(content.length)
        var body = PacedBody(arriving.pieces)
        while let piece = try await body.next() {
            try Task.checkCancellation()
            try await database.background { [content] in try content.write(piece) }
            try tell(content.length)
        }
        guard content.length == wanted.storedLength else {
            throw ReplicationError(
                .invalidAnswer,
                "'\(source.name)' ended the attachment '\(wanted.name.bounded)' of "
                    + "'\(wanted.documentID)' after \(content.length) of \(wanted.storedLength) bytes.",
                documentID: wanted.documentID, isTransient: true)
        }
    }

    private func tell(_ bytes: Int) throws {
        do {
            try progress?(
                WorkProgress(phase: "downloading", completed: bytes, total: wanted.storedLength))
        } catch { throw Stopped(error: error) }
    }

    /// Content that is not as its revision says is the other end's fault, not the document's.
    private static func failure(_ error: any Error) -> ReplicationError {
        guard let known = error as? DatabaseError, known.code == .invalidDocument else {
            return ReplicationError(error)
        }
        return ReplicationError(
            .invalidAnswer, known.message, documentID: known.documentID, underlying: known)
    }
}
