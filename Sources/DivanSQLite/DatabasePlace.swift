// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import DivanStorage
internal import Synchronization

/// Where an engine keeps its bytes, and how its connections are opened there.
enum DatabasePlace: Sendable {
    /// The file `main.sqlite3` in a directory.
    case directory(String)
    /// The same, without a log, and on a read-only file system or held by who opened it: nothing can
    /// change it, so SQLite needs neither locks nor a log's index.
    case unchanging(String)
    /// A file in this process's memory.
    case memory(number: Int)

    /// Makes a new place in memory.
    static func memory() -> DatabasePlace {
        .memory(number: memoryNumbers.add(1, ordering: .relaxed).newValue)
    }

    private static let memoryNumbers = Atomic(0)

    /// The directory of the database file; `nil` in memory.
    var directory: String? {
        switch self {
        case .directory(let directory), .unchanging(let directory): directory
        case .memory: nil
        }
    }

    /// The path of the database file; `nil` in memory.
    var path: String? { directory.map { $0 + "/main.sqlite3" } }

    /// What SQLite opens.
    private var location: String {
        switch self {
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
        switch self {
        case .directory:
            break
        case .unchanging:
            flags |= SQLITE_OPEN_URI
        case .memory:
            flags |= SQLITE_OPEN_URI
            divan_sqlite3_memory_vfs_register()
        }
        let connection = try Connection(location: location, flags: flags)
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
