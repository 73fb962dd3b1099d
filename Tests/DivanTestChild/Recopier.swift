// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials

/// Copies the databases `source-0` to `source-2` of a folder to `copy-0` to `copy-2` with another
/// encryption, in each way there is, until it is killed. It says before and after each copy where it
/// goes, which source it has, and which key it gets; 0 is none:
///
///     begin copy-1 2 3
///     done copy-1 2 3
///
/// The first source is not encrypted, the others are with the keys of their numbers.
struct Recopier {
    private let folder: URL
    private let manager: Manager
    private var random: SeededRandom

    init(_ arguments: [String]) throws {
        folder = URL(filePath: try arguments.argument(0))
        manager = try Manager(directory: folder)
        random = SeededRandom(seed: try arguments.number(1))
    }

    mutating func run() throws {
        while true {
            let (target, source) = ("copy-\(random.below(3))", UInt8(random.below(3)))
            let key = UInt8(random.below(4))
            let encryption = try Rekeyer.key(key).map(CopyEncryption.key) ?? .none
            Report.say("begin \(target) \(source) \(key)")
            try copy(source, to: target, encryption)
            Report.say("done \(target) \(source) \(key)")
        }
    }

    /// One of the ways; only one goes where a database is already.
    private mutating func copy(
        _ source: UInt8, to target: String, _ encryption: CopyEncryption
    ) throws {
        let name = "source-\(source)"
        let from = folder.appending(path: "\(name).divan")
        let to = folder.appending(path: "\(target).divan")
        let key = try Rekeyer.key(source)
        switch manager.databaseExists(named: target) ? 0 : random.below(4) {
        case 0:
            try manager.replaceDatabase(
                named: target, from: from, encryptionKey: key, encryption: encryption)
        case 1:
            try manager.copyDatabase(
                named: name, to: target, encryptionKey: key, encryption: encryption)
        case 2:
            try Database.copy(from: from, to: to, encryptionKey: key, encryption: encryption)
        default:
            var options = DatabaseOptions()
            options.encryptionKey = key
            let database = try Database.open(at: from, options: options)
            defer { database.close() }
            try database.backup(to: to, encryption: encryption)
        }
    }
}
