// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanPeers

extension CommandFailure {
    /// What any error means to the person at the terminal.
    init(describing error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let failure as SplitFailure: self.init(.badInput, failure.description)
        case let error as PeerError: self.init(ExitCode(error.code), error.message)
        case let error as DatabaseError
        where error.code == .scriptFailed
            && (error.underlying as? ScriptError)?.code == .script:
            self.init(
                ExitCode(error.code), error.message + " \"divan design check\" shows the reason.")
        case let error as DatabaseError: self.init(ExitCode(error.code), error.message)
        case is CancellationError: self = Interruption.failure
        default: self.init(.failure, "\(error)")
        }
    }
}

extension ExitCode {
    /// The one table from what went wrong in a database to what the process returns.
    init(_ code: DatabaseError.Code) {
        switch code {
        case .databaseNotFound, .documentNotFound, .revisionNotFound, .attachmentNotFound:
            self = .notFound
        case .conflict, .databaseExists:
            self = .conflict
        case .invalidDocument, .invalidID, .invalidName, .invalidQuery, .forbidden:
            self = .badInput
        case .unauthorized:
            self = .unauthorized
        case .databaseBusy, .databaseSuspended:
            self = .busy
        case .corrupted:
            self = .corrupted
        case .cancelled:
            self = .interrupted
        case .databaseClosed, .readOnly, .storageFull, .unsupportedVersion,
            .unsupportedStorageEngine, .io, .scriptFailed:
            self = .failure
        @unknown default:
            self = .failure
        }
    }
}
