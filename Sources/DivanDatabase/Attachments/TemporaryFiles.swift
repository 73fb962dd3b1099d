// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Synchronization

/// The folder with the temporary files of a store, made for the first of them and removed with the last.
///
///     attachments/tmp/5f0c…/lock      held by flock while the folder is in use
///     attachments/tmp/5f0c…/1         content
///
/// The lock says of all files that their process is alive. So a file that is written is closed, and any number of them
/// takes one descriptor. A folder whose lock is not held is a leftover, as is a file beside the folders: earlier
/// releases made those, and held each one by flock.
final class TemporaryFolder: Sendable {
    private static let lockName = "/lock"

    let path: String
    private let lock: FileHandle
    private let lastNumber = Atomic(0)

    private init(_ path: String, _ lock: FileHandle) {
        self.path = path
        self.lock = lock
    }

    deinit { try? Files.remove(path) }

    /// Makes a folder that no process takes for a leftover.
    static func make(in parent: String) throws(SystemError) -> TemporaryFolder {
        while true {
            let path = parent + "/" + IDGenerator.shared.uuid()
            try Files.makeDirectory(path)
            do throws(SystemError) {
                // A process that removes leftovers may have been faster than the lock. Then this one starts over.
                if let lock = try takeLock(path + lockName, [.read, .write, .create]) {
                    return TemporaryFolder(path, lock)
                }
            } catch {
                try? Files.removeDirectoryIfEmpty(path)
                throw error
            }
        }
    }

    /// Holds a file by flock; nil when another process does, or when there is none.
    private static func takeLock(_ path: String, _ options: OpenOptions) throws(SystemError)
        -> FileHandle?
    {
        do throws(SystemError) {
            let lock = try FileHandle(path: path, options)
            return try lock.tryLock(exclusive: true) && lock.isLinked ? lock : nil
        } catch {
            if error.isMissing { return nil }
            throw error
        }
    }

    /// A path for another file.
    func newPath() -> String {
        path + "/\(lastNumber.add(1, ordering: .relaxed).newValue)"
    }

    /// Removes what died processes left: the folders and files that no process holds by flock.
    ///
    /// What cannot be removed now costs some space and nothing else.
    static func removeLeftovers(in parent: String) {
        guard let names = try? Files.list(parent) else { return }
        for name in names {
            let path = parent + "/" + name
            let isFolder = Files.isDirectory(path)
            let lock = try? takeLock(isFolder ? path + lockName : path, [.read, .write])
            if let lock {
                try? Files.remove(path)
                lock.unlock()
            } else if isFolder {
                // One whose process died before it made the lock.
                try? Files.removeDirectoryIfEmpty(path)
            }
        }
    }
}

/// A file under a temporary name, which it loses when this goes. It is open only while it is written or read.
final class TemporaryFile: Sendable {
    private struct Place {
        var path: String
        /// Whether the temporary name became the final one, where links cannot be made.
        var isMoved = false
    }

    private let folder: TemporaryFolder
    private let place: Mutex<Place>

    /// Names a file that is not there yet.
    init(in folder: TemporaryFolder) {
        self.folder = folder
        place = Mutex(Place(path: folder.newPath()))
    }

    deinit {
        place.withLock { if !$0.isMoved { try? Files.remove($0.path) } }
    }

    /// Makes the file, to be written.
    func make() throws(SystemError) -> FileHandle {
        try FileHandle(path: place.withLock(\.path), [.read, .write, .new])
    }

    /// Opens the file, to be read.
    func open() throws(SystemError) -> FileHandle {
        try FileHandle(path: place.withLock(\.path), .read)
    }

    /// Gives the file a second name, in place of whatever has that name.
    func link(to path: String) throws(SystemError) {
        try place.withLock { (place) throws(SystemError) in
            do throws(SystemError) {
                try Files.link(place.path, to: path)
            } catch {
                if error.isExisting {
                    // Another name first, since a rename replaces at once what a link refuses to.
                    let other = place.path + "+"
                    try Files.remove(other)
                    try Files.link(place.path, to: other)
                    try Files.rename(other, to: path)
                } else if error.isWithoutLinks {
                    try Files.rename(place.path, to: path)
                    place = Place(path: path, isMoved: true)
                } else {
                    throw error
                }
            }
        }
    }
}
