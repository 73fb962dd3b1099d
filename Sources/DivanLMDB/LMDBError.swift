// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import CLibrary
internal import DivanStorage
internal import DivanSystem

/// What LMDB said: one of its own codes, which are negative, or one of the system's.
struct LMDBError: Error, CustomStringConvertible {
    let code: Int32

    var description: String {
        // SAFETY: LMDB returns a constant or thread-local C string, which is copied at once.
        unsafe "LMDB \(code): \(String(cString: mdb_strerror(code)))"
    }
}

// The sentences for LMDB's errors, in one table.
extension StorageError {
    /// Makes the error for a code of LMDB's.
    init(lmdb code: Int32, store: StoreName? = nil) {
        let (meaning, sentence) = StorageError.meaning(of: code)
        self.init(meaning, sentence, store: store, underlying: LMDBError(code: code))
    }

    /// A write transaction that was undone before its end.
    static func undone() -> StorageError {
        StorageError(.io, "The transaction had been undone after an earlier error in it.")
    }

    /// A file of LMDB's that another program has made.
    static func foreign() -> StorageError {
        StorageError(.corrupted, "The database file is not one of this engine's.")
    }

    /// A file without the lock files that keep two writers apart.
    static func unlockable(_ path: String) -> StorageError {
        StorageError(
            .io,
            "The lock files \(path)-users and -writer cannot be opened. Let this user write them, or "
                + "open the database read-only.")
    }

    /// A file that is shorter than its own first page says.
    static func truncated(_ size: Int, expected: Int) -> StorageError {
        StorageError(
            .corrupted,
            "The database file has been cut short: it has \(size) bytes of \(expected).")
    }

    private static func meaning(of code: Int32) -> (Code, String) {
        switch code {
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND:
            (.corrupted, "The database file is damaged.")
        case MDB_INVALID:
            (.corrupted, "The database file does not begin as one of LMDB's does.")
        case MDB_INCOMPATIBLE, MDB_NOTFOUND:
            (.corrupted, "A store of the database file is not as this engine makes it.")
        case MDB_VERSION_MISMATCH:
            (.unsupported, "The database file is of another version of LMDB.")
        case MDB_PANIC:
            (.io, "An earlier failure of the disk has stopped the engine until it is opened again.")
        case MDB_MAP_FULL:
            (.full, "One transaction has written more than the address space has room for.")
        case MDB_DBS_FULL:
            (.unsupported, "There are more stores than the engine can hold.")
        case MDB_READERS_FULL:
            (.busy, "All places for readers are taken by other processes.")
        case MDB_TXN_FULL, MDB_CURSOR_FULL, MDB_PAGE_FULL:
            (.unsupported, "One transaction has changed more than the engine can hold.")
        case MDB_BAD_TXN:
            (.io, "The transaction had been undone after an earlier error in it.")
        case MDB_BAD_VALSIZE:
            (.unsupported, "A key or value is larger than the engine can store.")
        case MDB_MAP_RESIZED, EAGAIN, EBUSY:
            (.busy, "Another process keeps the database file in use.")
        default:
            code > 0
                ? systemMeaning(of: code) : (.misuse, "LMDB was used in a way it does not allow.")
        }
    }

    private static func systemMeaning(of code: Int32) -> (Code, String) {
        switch code {
        case ENOSPC, EDQUOT, EFBIG:
            (.full, "The disk is full.")
        case EACCES, EPERM, EROFS:
            (.readOnly, "The permissions of the database file do not allow this.")
        case ENOENT:
            (.notFound, "The database file is not there.")
        case EMFILE, ENFILE:
            (.io, "The process has no descriptors left.")
        case ENOMEM:
            (.io, "There is not enough memory or address space.")
        default:
            (.io, "The system failed to read or write the database file.")
        }
    }
}

extension StorageError {
    /// The same error, or that the disk is full.
    ///
    /// Where there is room for a part of a write only, LMDB speaks of a failure of the disk.
    func explained(at path: String) -> StorageError {
        guard (underlying as? LMDBError)?.code == EIO else { return self }
        guard let volume = Volume(of: path), volume.freeBlocks < 16 else { return self }
        return StorageError(lmdb: ENOSPC, store: store)
    }
}

/// Throws unless LMDB has succeeded.
@inline(__always)
func check(_ code: Int32) throws(StorageError) {
    if code != MDB_SUCCESS {
        throw StorageError(lmdb: code)
    }
}

/// The code for missing memory or address space.
let divanNoMemory = ENOMEM
