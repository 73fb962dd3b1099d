// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

@testable import DivanSQLite

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A database as Couchbase Lite 1.x keeps it, made by SQL.
///
/// The tables are theirs but for the collation of revision IDs, which an import never compares.
final class CouchbaseLiteSample {
    enum Layout { case package, version10 }

    let path: String
    private let layout: Layout
    private let base: String
    private var connection: Connection?

    init(_ folder: String, name: String = "shop", layout: Layout = .package) throws {
        self.layout = layout
        let manager = FileManager.default
        switch layout {
        case .package:
            path = "\(folder)/\(name).cblite2"
            base = path
            try manager.createDirectory(
                atPath: path + "/attachments", withIntermediateDirectories: true)
            connection = try Connection(location: path + "/db.sqlite3", flags: 0x06)
        case .version10:
            path = "\(folder)/\(name).cblite"
            base = "\(folder)/\(name)"
            try manager.createDirectory(
                atPath: base + " attachments", withIntermediateDirectories: true)
            connection = try Connection(location: path, flags: 0x06)
        }
        try makeTables()
    }

    private func makeTables() throws {
        let isOld = layout == .version10
        try run("PRAGMA journal_mode = WAL")
        try run(
            "CREATE TABLE docs (doc_id INTEGER PRIMARY KEY, docid TEXT UNIQUE NOT NULL"
                + (isOld ? ")" : ", expiry_timestamp INTEGER)"))
        try run(
            """
            CREATE TABLE revs (sequence INTEGER PRIMARY KEY AUTOINCREMENT, doc_id INTEGER NOT NULL,
            revid TEXT NOT NULL, parent INTEGER, current BOOLEAN, deleted BOOLEAN DEFAULT 0, json BLOB)
            """)
        try run(
            "CREATE TABLE localdocs (docid TEXT UNIQUE NOT NULL, revid TEXT NOT NULL, json BLOB)")
        try run("CREATE TABLE info (key TEXT PRIMARY KEY, value TEXT)")
        guard isOld else { return }
        try run(
            """
            CREATE TABLE attachments (sequence INTEGER NOT NULL, filename TEXT NOT NULL,
            key BLOB NOT NULL, type TEXT, length INTEGER NOT NULL, revpos INTEGER DEFAULT 0,
            encoding INTEGER DEFAULT 0, encoded_length INTEGER)
            """)
        try run(
            "CREATE TABLE replicators (remote TEXT NOT NULL, push BOOLEAN, last_sequence TEXT)")
    }

    func run(_ sql: String) throws { try connection?.execute(sql) }

    static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
            + "'"
    }

    func document(_ number: Int, _ id: String, expires: Int? = nil) throws {
        try run("INSERT INTO docs (doc_id, docid) VALUES (\(number), \(Self.quoted(id)))")
        guard let expires else { return }
        try run("UPDATE docs SET expiry_timestamp = \(expires) WHERE doc_id = \(number)")
    }

    /// Adds a revision; a nil `json` is a body that is not there.
    func revision(
        _ sequence: Int, of document: Int, _ revision: String, parent: Int? = nil,
        leaf: Bool = true, deleted: Bool = false, _ json: String?
    ) throws {
        try run(
            """
            INSERT INTO revs (sequence, doc_id, revid, parent, current, deleted, json) VALUES
            (\(sequence), \(document), \(Self.quoted(revision)), \(parent.map(String.init) ?? "NULL"),
            \(leaf ? 1 : 0), \(deleted ? 1 : 0), \(json.map(Self.quoted) ?? "NULL"))
            """)
    }

    func local(_ id: String, revision: String, _ json: String) throws {
        try run(
            "INSERT INTO localdocs VALUES (\(Self.quoted(id)), \(Self.quoted(revision)), "
                + "\(Self.quoted(json)))")
    }

    func info(_ key: String, _ value: String) throws {
        try run("INSERT INTO info VALUES (\(Self.quoted(key)), \(Self.quoted(value)))")
    }

    /// Writes the file of a content under the name that its digest calls for.
    func content(_ digest: String, _ bytes: [UInt8]) throws {
        let folder = layout == .package ? base + "/attachments" : base + " attachments"
        let name = Self.hexadecimal(digest).uppercased()
        try Data(bytes).write(to: URL(filePath: "\(folder)/\(name).blob"))
    }

    /// The 40 digits of a digest as bodies have it.
    static func hexadecimal(_ digest: String) -> String {
        let bytes = Data(base64Encoded: String(digest.dropFirst("sha1-".count))) ?? Data()
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Ends the connection, which writes the log into the file.
    func close() { connection = nil }

    /// Copies all as it stands, the log included, as if the app had been killed.
    func copyOfKilled(to folder: String) throws -> String {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let copy = folder + "/shop.cblite2"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        return copy
    }

    /// A stub as bodies have it.
    static func stub(_ digest: String, length: Int, generation: Int = 1) -> String {
        #"{"content_type":"text/plain","digest":"\#(digest)","length":\#(length),"#
            + #""revpos":\#(generation),"stub":true}"#
    }

    static let helloDigest = "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00="
    static let hello = Array("hello".utf8)
}

/// The real database in `../shared`, unpacked into a folder.
enum CouchbaseLiteFixture {
    private static let name = "fixtures/cbl14-sample/shop.cblite2.tar.gz"

    static var isThere: Bool { Machine.hasShared(name) }

    static func unpack(in folder: String) throws -> String {
        let bytes = try #require(SharedFolder.bytes(of: name))
        let archive = folder + "/shop.tar.gz"
        try Data(bytes).write(to: URL(filePath: archive))
        let unpacked = folder + "/unpacked"
        try FileManager.default.createDirectory(atPath: unpacked, withIntermediateDirectories: true)
        guard system("tar -xzf '\(archive)' -C '\(unpacked)'") == 0 else { throw Whim() }
        return unpacked + "/shop.cblite2"
    }
}

/// The content of every file below a folder, by path.
func filesBelow(_ folder: String) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
        var isDirectory = false
        let file = folder + "/" + path
        if FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory), !isDirectory {
            contents[path] = try Data(contentsOf: URL(filePath: file))
        }
    }
    return contents
}

extension CouchbaseLiteSample {
    /// One with the document `good`, in a directory where an import makes its own.
    static func withGoodDocument() throws -> (TestDirectory, Manager, CouchbaseLiteSample) {
        let directory = try TestDirectory("cblite")
        let sample = try CouchbaseLiteSample(directory.path)
        try sample.info("privateUUID", "private")
        try sample.document(1, "good")
        try sample.revision(1, of: 1, "1-a", #"{"n":1}"#)
        return (directory, try Manager(directory: directory.url("new")), sample)
    }
}
