// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
package import DivanStorage

// The one place where an engine's errors become the public one.
extension DatabaseError {
    /// Makes the error of an engine's; `id` is the document that it concerns, if known.
    package init(_ error: StorageError, documentID id: DocumentID?) {
        let owner = id ?? Self.documentID(of: error)
        self.init(
            Self.code(for: error.code),
            "\(Self.clause(error.message)); \(Self.remedy(for: error.code))",
            documentID: owner, underlying: error)
        if code == .corrupted { self = .corrupted("Stored data", owner, error) }
    }

    private static func code(for code: StorageError.Code) -> Code {
        switch code {
        case .corrupted: .corrupted
        case .busy: .databaseBusy
        case .full: .storageFull
        case .io: .io
        case .readOnly: .readOnly
        case .closed: .databaseClosed
        case .suspended: .databaseSuspended
        case .unsupported: .unsupportedVersion
        case .notFound: .databaseNotFound
        case .interrupted: .cancelled
        case .misuse: .io
        }
    }

    private static func remedy(for code: StorageError.Code) -> String {
        switch code {
        case .corrupted: "run verify and salvage."
        case .busy: "try again when the other process is done."
        case .full: "nothing was changed; free some space and try again."
        case .io:
            "nothing was changed; check the disk, the permissions and the limit of open files."
        case .readOnly: "open the database writable to change it."
        case .closed: "open the database again."
        case .suspended: "resume its manager and try again."
        case .unsupported: "use a newer release."
        case .notFound: "check the path."
        case .interrupted: "nothing was changed."
        case .misuse: "this is a defect in Divan, please report it."
        }
    }

    /// An engine's sentence without its full stop, so that the remedy can follow in the same one.
    ///
    /// - Parameter message: The sentence.
    /// - Returns: What stands before the full stop.
    package static func clause(_ message: String) -> String {
        message.beforeByteSuffix(".") ?? message
    }

    /// The document a damaged row belongs to, where its key says so.
    private static func documentID(of error: StorageError) -> DocumentID? {
        guard error.store?.name == "documents", let key = error.key else { return nil }
        var bytes: [UInt8] = []
        var digits = key.utf8.makeIterator()
        while let high = digits.next(), let low = digits.next() {
            guard let byte = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return try? DocumentID(validating: String(decoding: bytes, as: UTF8.self))
    }
}
