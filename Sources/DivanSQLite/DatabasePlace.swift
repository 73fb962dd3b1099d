// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import DivanStorage
internal import Synchronization

/// Where an engine keeps its bytes, and how its connections are opened there.
struct DatabasePlace: Sendable {
    private enum Kind: Sendable {
        case directory(String)
        case unchanging(String)
        case memory(number: Int)
    }

    private let kind: Kind
    /// What seals the files; nil for files that are not sealed.
    let codec: PageCodec?

    /// The file `main.sqlite3` in a directory.
    static func directory(_ path: String, codec: PageCodec?) -> DatabasePlace {
        DatabasePlace(kind: .directory(path), codec: codec)
    }

    /// The same, without a log, and on a read-only file system or locked by the caller: nothing can
    /// change it, so SQLite needs neither locks nor a log's index.
    static func unchanging(_ path: String, codec: PageCodec?) -> DatabasePlace {
        DatabasePlace(kind: .unchanging(path), codec: codec)
    }

    /// Makes a new place in this process's memory.
    static func memory() -> DatabasePlace {
        let number = memoryNumbers.add(1, ordering: .relaxed).newValue
        return DatabasePlace(kind: .memory(number: number), codec: nil)
    }

    private static let memoryNumbers = Atomic(0)

    /// The directory of the database file; `nil` in memory.
    var directory: String? {
        switch kind {
        case .directory(let directory), .unchanging(let directory): directory
        case .memory: nil
        }
    }

    /// The path of the database file; `nil` in memory.
    var path: String? { directory.map { $0 + "/main.sqlite3" } }

    /// What SQLite opens.
    private var location: String {
        switch kind {
        case .directory(let directory):
            directory + "/main.sqlite3"
        case .unchanging(let directory):
            "file:" + DatabasePlace.escaped(directory) + "/main.sqlite3?immutable=1"
        case .memory(let number):
            "file:/divan-\(number)?vfs=divan-memory"
        }
    }

    /// Opens a connection.
    func connect(readOnly: Bool, timeout: Duration) throws(StorageError) -> Connection {
        var flags = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        switch kind {
        case .directory:
            break
        case .unchanging:
            flags |= SQLITE_OPEN_URI
        case .memory:
            flags |= SQLITE_OPEN_URI
            divan_sqlite3_memory_vfs_register()
        }
        let connection = try Connection(location: location, flags: flags, codec: codec)
        connection.setBusyTimeout(timeout)
        return connection
    }

    /// Writes the characters that mean something in a URI as percent and two digits.
    static func escaped(_ path: String) -> String {
        path.utf8.reduce(into: "") { uri, byte in
            switch byte {
            case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"), 0x80...:
                let digits = String(byte, radix: 16)
                uri += byte < 16 ? "%0" + digits : "%" + digits
            default:
                uri.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
    }
}
