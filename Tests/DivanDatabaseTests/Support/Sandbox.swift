// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import FoundationEssentials
import Testing

/// A folder for the databases of one test; it goes when the test lets go of it.
final class Sandbox: Sendable {
    let folder: URL

    init() {
        _ = TestEncryption.isOn
        folder = FileManager.default.temporaryDirectory
            .appending(path: "divan-tests-\(UUID().uuidString)")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The directory of a database in the folder.
    func url(_ name: String = "db") -> URL { folder.appending(path: "\(name).divan") }

    /// Opens a database in the folder, creating it when it is missing.
    func database(
        _ name: String = "db", _ adjust: (inout DatabaseOptions) -> Void = { _ in }
    ) throws -> Database {
        var options = DatabaseOptions()
        options.create = true
        adjust(&options)
        return try Database.open(at: url(name), options: options)
    }

    /// A database, and its live document `a`, with these properties where there are any.
    func liveDocument(_ properties: JSONObject? = nil) throws -> (Database, LiveDocument) {
        let database = try database()
        let document = try database["a"]
        if let properties { try document.putProperties(properties) }
        return (database, document)
    }

    func manager(_ options: ManagerOptions = ManagerOptions()) throws -> Manager {
        try Manager(directory: folder, options: options)
    }

    /// The content of every file in the folder, by path.
    func contents() throws -> [String: Data] { try Self.contents(of: folder) }

    /// The content of every file in a folder, by path; nothing where there is none.
    static func contents(of folder: URL) throws -> [String: Data] {
        let root = folder.path(percentEncoded: false)
        var contents: [String: Data] = [:]
        guard FileManager.default.fileExists(atPath: root) else { return contents }
        for path in try FileManager.default.subpathsOfDirectory(atPath: root) {
            let file = root + "/" + path
            var isDirectory = false
            if FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory), !isDirectory
            {
                contents[path] = try Data(contentsOf: URL(filePath: file))
            }
        }
        return contents
    }
}

/// Runs something that should fail; returns the code of its `DatabaseError`, nil when it succeeds.
///
/// An error of another type is a failure of the test.
func code<T>(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> T
) -> DatabaseError.Code? {
    do {
        _ = try body()
    } catch let error as DatabaseError {
        return error.code
    } catch {
        Issue.record("Not a DatabaseError: \(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// As the blocking form.
func code<T>(
    isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> T
) async -> DatabaseError.Code? {
    do {
        _ = try await body()
    } catch let error as DatabaseError {
        return error.code
    } catch {
        Issue.record("Not a DatabaseError: \(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// An error made by a test, to be thrown through the code under test.
struct Whim: Error, Equatable {}

extension Database {
    /// Saves a new document and returns it as stored.
    @discardableResult
    func create(_ id: DocumentID, _ properties: JSONObject = [:]) throws -> Document {
        try save(MutableDocument(properties, id: id)).document
    }

    /// The problems that `verify` finds, as text.
    func problems() throws -> [String] { try verify().map(\.message) }

    /// The current revision of a document that must exist.
    func existing(_ id: DocumentID) throws -> Document {
        try #require(try document(withID: id))
    }
}
