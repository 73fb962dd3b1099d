// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanLMDB
import FoundationEssentials

/// Databases that come and go, each under a name of its own; see `Rounds`.
struct DatabaseRounds {
    private let folder: String
    private let manager: Manager
    private let rounds: Rounds

    init(_ arguments: [String]) throws {
        folder = try arguments.argument(0)
        manager = try Manager(directory: URL(filePath: folder))
        rounds = Rounds(count: try arguments.number(1))
    }

    func run() throws {
        try makeDamaged("damaged")
        try makeTemplate("template")
        try rounds.run([
            .init(name: "delete", share: 0.4, round: delete),
            .init(name: "close", share: 0.1, round: close),
            .init(name: "convert", share: 0.1, round: convert),
            .init(name: "replace", share: 0.1, round: replace),
            .init(name: "rename", share: 0.1, round: rename),
            .init(name: "fail", share: 0.1, round: fail),
            .init(name: "delete elsewhere", share: 0.05, round: deleteElsewhere),
            .init(name: "suspend", share: 0.05, round: suspend),
            .init(name: "import and copy", share: 0.05, round: copy),
            .init(name: "change key", share: 0.05, round: changeKey),
        ])
    }

    // MARK: - Rounds

    /// Makes a database and uses it as an app does.
    @discardableResult
    private func make(_ name: String) throws -> Database {
        let database = try manager.database(named: name)
        let document = MutableDocument(["n": 1], id: "a")
        document.setAttachment(named: "x", contentType: nil, .bytes([1, 2, 3]))
        try database.save(document)
        let view = database.view(named: "v")
        view.setMap(version: "1") { document, emit in emit(document["n"], nil) }
        _ = try view.query().run()
        _ = try database["a"].currentRevision
        database.setFilter(named: "own") { _, _ in try database.contains("a") }
        return database
    }

    private func delete(_ round: Int) throws {
        try make("d\(round)")
        try manager.deleteDatabase(named: "d\(round)")
    }

    private func close(_ round: Int) throws {
        try make("c\(round)").close()
        let again = try manager.database(named: "c\(round)")
        guard try again.documentCount == 1 else { throw WrongArguments() }
        again.close()
        again.close()
    }

    private func convert(_ round: Int) throws {
        let name = "e\(round)"
        let database = try make(name)
        let other = database.storageEngineName == "sqlite" ? StorageEngineFactory.lmdb : .sqlite
        database.close()
        // Only one engine encrypts.
        if !TestEncryption.isOn { try manager.convertDatabase(named: name, to: other) }
        try manager.deleteDatabase(named: name)
    }

    private func replace(_ round: Int) throws {
        let name = "r\(round)"
        try make(name).close()
        try manager.replaceDatabase(named: name, from: url("template"))
        try manager.deleteDatabase(named: name)
    }

    private func rename(_ round: Int) throws {
        try make("m\(round)").close()
        try FileManager.default.moveItem(at: url("m\(round)"), to: url("n\(round)"))
        try manager.deleteDatabase(named: "n\(round)")
    }

    /// Openings that fail: there is nothing, it is damaged, the key is wrong, it is open elsewhere.
    private func fail(_ round: Int) throws {
        var options = DatabaseOptions()
        try expectFailure { _ = try manager.openDatabase(named: "none\(round)", options: options) }
        try expectFailure { _ = try manager.openDatabase(named: "damaged", options: options) }
        options.encryptionKey = try Keeping.key()
        try expectFailure { _ = try manager.openDatabase(named: "template", options: options) }
        let database = try make("f\(round)")
        try expectFailure { try manager.convertDatabase(named: "f\(round)", to: .lmdb) }
        try expectFailure {
            try manager.replaceDatabase(named: "f\(round)", from: url("template"))
        }
        try expectFailure { try manager.replaceDatabase(named: "g\(round)", from: url("damaged")) }
        try database.delete()
    }

    private func deleteElsewhere(_ round: Int) throws {
        let mine = try make("o\(round)")
        let other = try Database.open(at: url("o\(round)"))
        _ = try other.documentCount
        try other.delete()
        guard mine.isClosed else { throw WrongArguments() }
    }

    private func suspend(_ round: Int) throws {
        let database = try make("s\(round)")
        try manager.suspend()
        try manager.resume()
        _ = try database.documentCount
        try manager.suspend()
        database.close()
        try manager.resume()
        try manager.deleteDatabase(named: "s\(round)")
    }

    private func copy(_ round: Int) throws {
        try make("q\(round)")
        try manager.copyDatabase(named: "q\(round)", to: "p\(round)")
        try manager.database(named: "q\(round)").backup(to: url("b\(round)"))
        for name in ["q\(round)", "p\(round)", "b\(round)"] {
            try manager.deleteDatabase(named: name)
        }
    }

    private func changeKey(_ round: Int) throws {
        var options = DatabaseOptions()
        options.create = true
        options.storageEngine = .sqlite
        options.encryptionKey = try Keeping.key()
        let database = try manager.openDatabase(named: "k\(round)", options: options)
        try database.save(MutableDocument())
        try database.changeEncryptionKey(
            to: EncryptionKey(rawBytes: [UInt8](repeating: 1, count: 32)))
        if !TestEncryption.isOn { try database.changeEncryptionKey(to: nil) }
        guard !database.isClosed else { return try manager.deleteDatabase(named: "k\(round)") }
        try database.delete()
    }

    // MARK: - Helpers

    private func url(_ name: String) -> URL { URL(filePath: "\(folder)/\(name).divan") }

    private func makeTemplate(_ name: String) throws { try make(name).close() }

    /// A database whose manifest is whole and whose data are not there.
    private func makeDamaged(_ name: String) throws {
        try make(name).close()
        for file in try FileManager.default.contentsOfDirectory(
            atPath: url(name).path() + "/data-1")
        where file.hasPrefix("main") {
            try FileManager.default.removeItem(atPath: url(name).path() + "/data-1/" + file)
        }
    }

    private func expectFailure(_ body: () throws -> Void) throws {
        do { try body() } catch is DatabaseError { return }
        throw WrongArguments()
    }
}
