// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// What the trailer of a sealed unit says, and which kind of file it is of.
struct SealedUnit: Hashable {
    /// What must never come twice with another content: the key, by its epoch and role, and the nonce.
    struct Name: Hashable {
        let role: UInt8
        let epoch: [UInt8]
        let nonce: [UInt8]
    }

    let name: Name
    let tag: [UInt8]

    init(_ trailer: Data, role: UInt8) {
        let bytes = Array(trailer)
        name = Name(role: role, epoch: Array(bytes[..<16]), nonce: Array(bytes[16..<24]))
        tag = Array(bytes[24...])
    }

    /// All units of the database file and the log in an engine's directory.
    static func all(in directory: String) throws -> [SealedUnit] {
        let main = try Data(contentsOf: URL(filePath: directory + "/main.sqlite3"))
        let log = try Data(contentsOf: URL(filePath: directory + "/main.sqlite3-wal"))
        let pages = stride(from: 4_096, through: main.count, by: 4_096)
        var units = pages.map { SealedUnit(main[$0 - 40..<$0], role: 1) }
        let frames = stride(from: 72, through: log.count, by: 4_120)
        units += frames.map { SealedUnit(log[$0 - 40..<$0], role: 2) }
        return units
    }
}
