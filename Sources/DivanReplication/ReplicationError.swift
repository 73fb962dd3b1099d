// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging
public import DivanModel

/// What went wrong with a replication, and whether it may get better by itself.
///
/// ```swift
/// if let error = replication.lastError, error.code == .unauthorized { askForPassword() }
/// ```
///
/// A replication ends with a *permanent* error; a continuous one tries again all the same, now and
/// then, since what is wrong may be put right at the other end, unless the other end's certificate has changed. A
/// *transient* error only delays it.
public struct ReplicationError: Error, Sendable {
    /// The kinds of failure, by what a caller can do about them.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// The other end wants other credentials.
        case unauthorized
        /// The other end refuses: the whole replication, or one document.
        case forbidden
        /// There is no database at the other end, see `createTarget`; or not the attachment that was asked for.
        case notFound
        /// A document cannot go, since the content of one of its attachments is not here. It goes once that has
        /// been downloaded.
        case contentMissing
        /// The other end cannot be reached, or the connection broke.
        case unreachable
        /// The other end did not answer in time.
        case timeout
        /// The other end failed, or is too busy.
        case server
        /// The other end's certificate is not trusted.
        case untrusted
        /// The other end's certificate is another one than at the first contact; see `KnownHosts`. The replication ends,
        /// also a continuous one: to go on is for people to decide.
        case certificateChanged
        /// What answered does not speak the protocol.
        case invalidAnswer
        /// The other end does not take a document: it is too large, or not valid there.
        case rejected
        /// An attachment is too large for the other end; its document has gone without it. See
        /// ``OversizedAttachments``.
        case attachmentTooLarge
        /// A conflict that has arrived is still there, since the `conflictResolver` threw, or what it made cannot be
        /// stored; `underlying` says why. The next run tries again.
        case conflictUnresolved
        /// A setting makes no sense, such as a filter that is not registered, or not there at the other end.
        case invalidSetting
        /// The local database failed; `underlying` says how.
        case database
        /// The replication was stopped.
        case cancelled
    }

    /// What the caller can do about it.
    public var code: Code
    /// One sentence.
    public var message: String
    /// The status of the HTTP answer, where there was one.
    public var status: Int?
    /// The document concerned, where it is one.
    public var documentID: DocumentID?
    /// Whether trying again later may help.
    public var isTransient: Bool
    /// How many seconds the other end asked to be left alone.
    public var retryAfter: Double?
    /// The error below this one, where there is one.
    public var underlying: (any Error)?
    /// Whether the revision is passed by the checkpoint, and offered again all the same; see `PostponedRevisions`.
    var isPostponed = false
    /// The words of another that the message ends with: of a server, or of a function that refuses a change.
    var quoted: String?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What the caller can do about it.
    ///   - message: One sentence without document content.
    ///   - status: The status of the HTTP answer.
    ///   - documentID: The document concerned.
    ///   - isTransient: Whether trying again later may help.
    ///   - underlying: The cause.
    package init(
        _ code: Code, _ message: String, status: Int? = nil, documentID: DocumentID? = nil,
        isTransient: Bool = false, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.status = status
        self.documentID = documentID
        self.isTransient = isTransient
        self.underlying = underlying
    }
}

extension ReplicationError: CustomStringConvertible {
    /// One line: the sentence, then the code.
    public var description: String {
        "\(message) (\(code.rawValue)\(status.map { ", HTTP \($0)" } ?? ""))"
    }
}

extension ReplicationError: LoggedError {
    /// One line: the sentence without what a server or a function said, which may have content of documents, then the code.
    package var logged: String {
        guard let quoted, !quoted.isEmpty, let own = message.beforeByteSuffix(quoted) else {
            return description
        }
        var error = self
        error.message = own + ((underlying as? DatabaseError)?.logged ?? "its words are not logged")
        return error.description
    }
}

extension ReplicationError {
    /// A revision that cannot be sent whole. It is not tried again before its document changes; the
    /// content's arrival is such a change.
    package static func contentMissing(_ name: String, _ id: DocumentID, _ revision: RevisionID)
        -> ReplicationError
    {
        ReplicationError(
            .contentMissing,
            "The revision \(revision) of '\(id)' cannot be sent, since the content of its attachment "
                + "'\(name.bounded)' is not here, or not whole; it goes once that is downloaded.",
            documentID: id)
    }

    /// A document that has gone without some of its attachments.
    static func leftOut(_ names: [String], of id: DocumentID, at name: String) -> ReplicationError {
        let list = names.prefix(3).map { "'\($0.bounded)'" }.joined(separator: ", ")
        return ReplicationError(
            .attachmentTooLarge,
            "'\(id)' has gone to '\(name)' without attachments that are too large there: \(list)"
                + (names.count > 3 ? " and \(names.count - 3) more." : "."),
            documentID: id)
    }

    /// The cancellation of something that a replication has called, such as a closure of the app: a failure like any other,
    /// since the replication itself was not stopped.
    static func interrupted(by cause: any Error) -> ReplicationError {
        ReplicationError(
            .server,
            "What the replication waited for was cancelled, though the replication was not stopped: perhaps a closure of the app.",
            isTransient: true, underlying: cause)
    }

    /// A conflict that a resolver could not end. What it threw may have content of the document, so it is not part of
    /// the sentence.
    static func unresolved(_ id: DocumentID, _ error: any Error) -> ReplicationError {
        ReplicationError(
            .conflictUnresolved,
            "The conflict of '\(id)' is still there, since the resolver failed; the next run tries again.",
            documentID: id, isTransient: true, underlying: error)
    }

    /// Takes any error as one of a replication.
    init(_ error: any Error) {
        switch error {
        case let error as ReplicationError: self = error
        case is CancellationError:
            self.init(.cancelled, "The replication was stopped.", underlying: error)
        case let error as DatabaseError: self.init(error)
        case let error as WireDocumentError:
            self.init(
                .invalidAnswer, error.message, documentID: error.documentID, underlying: error)
        default:
            self.init(
                .server, "The replication failed: \(error)", isTransient: true, underlying: error)
        }
    }

    /// Takes an error of the local database.
    init(_ error: DatabaseError) {
        let code: Code =
            switch error.code {
            case .forbidden: .forbidden
            case .invalidDocument, .invalidID, .attachmentNotFound, .conflict: .rejected
            case .cancelled: .cancelled
            case .invalidQuery: .invalidSetting
            default: .database
            }
        let isTransient: Bool =
            switch error.code {
            case .databaseBusy, .databaseSuspended, .storageFull, .io: true
            // A function that throws does so again; one that was too slow may be faster.
            case .scriptFailed: !((error.underlying as? any LastingError)?.isLasting ?? false)
            default: false
            }
        self.init(
            code, error.message, documentID: error.documentID, isTransient: isTransient,
            underlying: error)
        if error.code == .forbidden { quoted = error.message }
    }
}
