// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanSystem
internal import FoundationEssentials

/// The backups of a directory of databases, or of one database, that lie in a folder: one a moment, the oldest of which go.
///
///     2026-11-25T020000Z/        the oldest
///     2026-11-26T020000Z/        the newest that is whole: a directory of databases, with the files beside them
///     2026-11-27T020000Z.part/   being made, or what was left when the machine went down
///     .lock                      held while one is made
///
/// ## Invariants
/// 1. A folder that is named by a time is whole: it got that name when all of it was written and, if asked for, verified.
/// 2. The oldest go after that, and never so that fewer than the wanted number of backups stay of any database: the folder may
///    have those of several, or a database may have been deleted since.
/// 3. Nothing else in the folder is touched.
struct BackupSeries {
    /// The path of the folder.
    let folder: String
    /// How many backups stay.
    let count: Int

    private static let partMark = ".part"

    /// Makes one more backup.
    ///
    /// - Parameter write: Writes the backup into the directory whose path it gets.
    /// - Returns: The path of the backup, and how many old ones went.
    /// - Throws: What `write` throws, and `CommandFailure`. The backups that were there are then still there.
    func add(_ write: (_ path: String) throws -> Void) throws -> (path: String, removed: Int) {
        do {
            // The databases may lie where only their owner looks, and so do copies of them.
            try Files.makeDirectory(folder, permissions: 0o700)
            let lock = try FileHandle(path: folder + "/.lock", [.write, .create])
            guard try lock.tryLock(exclusive: true) else {
                throw CommandFailure(
                    .busy,
                    "Another backup is being made in \(PrintableText.escaping(folder)); wait for its end."
                )
            }
            // What a machine that went down has left; this holds the lock.
            for name in try Files.list(folder) where Self.isPart(name) {
                try Files.remove(folder + "/" + name)
            }
            let path = try newPath()
            let part = path + Self.partMark
            do {
                try Files.makeDirectory(part, permissions: 0o700)
                try write(part)
                try Files.synchroniseDirectory(part)
                try Files.rename(part, to: path)
                try Files.synchroniseDirectory(folder)
            } catch {
                try? Files.remove(part)
                throw error
            }
            let old = try superfluous.map { folder + "/" + $0 }
            // What goes loses its name first, so that a half of it is never taken for a whole one.
            for path in old { try Files.rename(path, to: path + Self.partMark) }
            try Files.synchroniseDirectory(folder)
            for path in old { try Files.remove(path + Self.partMark) }
            withExtendedLifetime(lock) {}
            return (path, old.count)
        } catch let error as SystemError {
            throw CommandFailure(
                .failure, "The backups in \(PrintableText.escaping(folder)): \(error.reason).")
        }
    }

    /// The names of the backups, the oldest first.
    private var backups: [String] {
        get throws(SystemError) {
            try Files.list(folder).filter {
                Self.isTime($0) && Files.isDirectory(folder + "/" + $0)
            }
        }
    }

    /// Whether a backup has a database. Then one that has none comes of a disk that is missing rather than of a new server.
    var hasDatabases: Bool {
        get throws(SystemError) {
            for name in try backups where try !databases(in: name).isEmpty { return true }
            return false
        }
    }

    private func databases(in name: String) throws(SystemError) -> [String] {
        try Files.list(folder + "/" + name).filter { $0.hasByteSuffix(".divan") }
    }

    /// The names of the backups that may go: of each database in them there are as many newer ones as are wanted.
    private var superfluous: [String] {
        get throws(SystemError) {
            var newer: NameMap<Int> = [:]
            var found: [String] = []
            var kept = 0
            for name in try backups.reversed() {
                let databases = try databases(in: name)
                let isSuperfluous =
                    kept >= count && databases.allSatisfy { newer[$0] ?? 0 >= count }
                if isSuperfluous { found.append(name) } else { kept += 1 }
                for database in databases { newer[database] = (newer[database] ?? 0) + 1 }
            }
            return found.reversed()
        }
    }

    /// A path that is later than those of all backups.
    private func newPath() throws -> String {
        var seconds = WallClock.secondsSince1970
        let newest = try backups.last
        while let name = Self.name(ofTime: seconds) {
            // The clock may have been set back, and a second is short.
            guard let newest, !newest.isBefore(name) else { return folder + "/" + name }
            guard Self.day(of: newest) == Self.day(of: name) else {
                throw CommandFailure(
                    .failure,
                    "The backup \(newest) is from a later day than the clock shows; set the clock, or move that backup away."
                )
            }
            seconds += 1
        }
        throw CommandFailure(.failure, "The clock shows no time; set it.")
    }

    // MARK: - Names

    /// A time as a name: `2026-11-27T020000Z`.
    static func name(ofTime seconds: Int64) -> String? {
        guard let time = UniversalTime(secondsSince1970: seconds), (0...9_999).contains(time.year)
        else { return nil }
        func digits(_ number: some BinaryInteger, _ count: Int) -> String {
            let plain = String(number)
            return String(repeating: "0", count: max(0, count - plain.utf8.count)) + plain
        }
        return "\(digits(time.year, 4))-\(digits(time.month, 2))-\(digits(time.day, 2))"
            + "T\(digits(time.hour, 2))\(digits(time.minute, 2))\(digits(time.second, 2))Z"
    }

    private static func day(of name: String) -> Substring { name.prefix(10) }

    /// Whether a name is one of a backup.
    static func isTime(_ name: String) -> Bool {
        let form = Array("0000-00-00T000000Z".utf8)
        let bytes = Array(name.utf8)
        guard bytes.count == form.count else { return false }
        return zip(bytes, form).allSatisfy { byte, wanted in
            wanted == UInt8(ascii: "0")
                ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == wanted
        }
    }

    /// Whether a folder has backups of a series.
    static func isSeries(_ folder: String) -> Bool {
        ((try? Files.list(folder)) ?? []).contains {
            isTime($0) && Files.isDirectory(folder + "/" + $0)
        }
    }

    private static func isPart(_ name: String) -> Bool {
        name.hasByteSuffix(partMark) && isTime(String(name.dropLast(partMark.utf8.count)))
    }
}

extension String {
    /// Whether it stands before another text of ASCII.
    fileprivate func isBefore(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}
