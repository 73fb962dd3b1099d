// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanLogging
package import DivanSystem

// What of a directory is Divan's. A person may keep other files there, and call them anything: `data-2026` is a likely name
// for a folder of measurements. So a name alone does not make a generation, and only what Divan has made is ever removed.
extension DatabaseDirectory {
    /// How many bytes the data of a creation that did not finish may have. LMDB's take 80,000 and SQLite's 4,096, and as
    /// much as 40,000 more while the engine has them open.
    private static let mostUnfinished = 128 << 10

    /// The number of a generation's directory; nil for another name.
    package static func generation(_ name: String) -> Int? {
        guard let digits = name.afterBytePrefix("data-"), digits.utf8.count < 10,
            let number = Int(digits), number >= 0, String(number).hasSameBytes(as: String(digits))
        else { return nil }
        return number
    }

    /// A number that no directory has yet, also none that is not Divan's: the next one, or a free one below where a person's
    /// folder has the last.
    package static func nextGeneration(at path: String) throws(SystemError) -> Int {
        let taken = Set(try Files.list(path).compactMap(generation))
        let next = (taken.max() ?? 0) + 1
        if generation("data-\(next)") != nil { return next }
        return (1...).first { !taken.contains($0) } ?? next
    }

    /// What lies in a directory and does not belong to a database of that generation: other
    /// generations, and files that were to replace others.
    package static func leftovers(at path: String, besides current: Int?) throws(SystemError)
        -> [String]
    {
        let names = try Files.list(path)
        let generations = names.filter { name in
            generation(name) != current && isGeneration(name, at: path)
        }
        // Last, since one of them may say that the others belong to a deleted database.
        return generations + names.filter(isReplacement)
    }

    /// What the manifest of a database is called from its deletion on, until its data are removed.
    static func deletedManifestPath(_ path: String) -> String {
        manifestPath(path) + Files.temporaryMark + "deleted"
    }

    /// Whether Divan makes an entry of this name in the directory, and made this one, if it can be told.
    package static func isOwn(_ name: String, at path: String) -> Bool {
        ["manifest", "lock", "changes"].contains { $0.hasSameBytes(as: name) }
            || isReplacement(name) || isGeneration(name, at: path)
    }

    /// Refuses a directory without a manifest that yet holds a database, or that cannot be looked into.
    ///
    /// What a copy that did not finish has left, which can be large, has no file `changes`. Where a database is to be made
    /// that is no reason to remove it: the file may be lost, too.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - isCreating: Whether an empty database is to be made there.
    /// - Throws: `DatabaseError` with code `.corrupted`; `SystemError`.
    package static func checkIsNoDatabase(at path: String, isCreating: Bool = false) throws {
        do {
            _ = try FileStatus(at: manifestPath(path))
        } catch {
            guard error.isMissing else { throw error }
        }
        // What is left of a deletion that was interrupted is no database.
        guard !Files.exists(deletedManifestPath(path)) else { return }
        let mark = (try? Files.read(changesPath(path))).flatMap(ChangeMark.init)
        guard mark != nil || isCreating, Files.isDirectory(path) else { return }
        let data = try Files.list(path).filter { isGeneration($0, at: path) }
        let size = data.reduce(0) { $0 + Files.size(of: path + "/" + $1) }
        let hasCommit = mark.map { $0.lastSequence > 0 || $0.lastPurge > 0 } ?? false
        if size > (hasCommit ? 0 : mostUnfinished), !exists(at: path) {
            throw DatabaseError.manifestLost(path)
        }
    }

    /// The folders that hold other data than the current ones, which an interruption or a failed removal has left.
    ///
    /// No process makes one while this has the lock.
    ///
    /// - Returns: Their names; what is empty does not count.
    /// - Throws: `DatabaseError` with code `.io`.
    func earlierData() throws -> [String] {
        do throws(SystemError) {
            var found: [String] = []
            for name in try Self.leftovers(at: path, besides: manifest.generation)
            where Self.generation(name) != nil {
                let names = try Files.list(path + "/" + name)
                if names.contains(where: { !$0.hasSameBytes(as: "place") }) { found.append(name) }
            }
            return found
        } catch { throw DatabaseError.io(error) }
    }

    /// Removes what an interruption left over, if no process has the database open.
    ///
    /// A process that has it open may be changing the manifest just now.
    static func removeLeftovers(at path: String) {
        do {
            guard let manifest = try? Manifest(at: path),
                try !leftovers(at: path, besides: manifest.generation).isEmpty
            else { return }
            try DirectoryLock.whileExclusive(at: path, timeout: .zero) {
                // Before the lock was taken, another process may have replaced the database.
                let current = try Manifest(at: path)
                for name in try leftovers(at: path, besides: current.generation) {
                    try Files.remove(path + "/" + name)
                }
            }
        } catch let error as DatabaseError where error.code == .databaseBusy {
            return  // The next writer that is alone looks again.
        } catch {
            Log.database.warning(
                "What an interruption left in '\(path)' could not be removed: \(error)")
        }
    }

    /// Whether a file was to replace one of the two that are replaced.
    private static func isReplacement(_ name: String) -> Bool {
        ["manifest", "changes"].contains { name.hasBytePrefix($0 + Files.temporaryMark) }
    }

    /// Whether an entry is a generation, whole or not: a directory with the empty file `place`, and nothing that a generation
    /// has not; or with nothing at all, as one is for a moment.
    private static func isGeneration(_ name: String, at path: String) -> Bool {
        let folder = path + "/" + name
        guard generation(name) != nil, let names = try? Files.list(folder) else { return false }
        guard !names.isEmpty else { return true }
        let others = ["attachments", "attachments.lock", "place", "source"]
        return Files.length(of: folder + "/place") == 0
            && names.allSatisfy { name in
                name.hasBytePrefix("main.") || others.contains { $0.hasSameBytes(as: name) }
            }
    }
}
