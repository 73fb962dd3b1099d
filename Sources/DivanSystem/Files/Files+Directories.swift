// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

extension Files {
    /// Makes a directory and every missing parent; an existing one is fine.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - permissions: Those of the directory, if it is made, less those that the process withholds.
    /// - Throws: `SystemError`.
    package static func makeDirectory(
        _ path: String, permissions: Int = 0o755
    ) throws(SystemError) {
        let mode = mode_t(permissions)
        if unsafe mkdir(path, mode) == 0 || (errno == EEXIST && isDirectory(path)) { return }
        let number = errno
        let parent = parent(of: path)
        guard number == ENOENT, !parent.utf8.elementsEqual(path.utf8) else {
            throw SystemError("mkdir", path, number: number)
        }
        try makeDirectory(parent)
        guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else {
            throw SystemError("mkdir", path)
        }
    }

    /// The names in a directory, without `.` and `..`, sorted.
    package static func list(_ path: String) throws(SystemError) -> [String] {
        // SAFETY: opendir's handle stays in this function and is closed on every way out.
        guard let directory = unsafe opendir(path) else { throw SystemError("opendir", path) }
        defer { _ = unsafe closedir(directory) }
        var names: [String] = []
        // SAFETY: readdir's entry is valid until the next call; its name is copied at once.
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Makes a directory for the use of this process, where the system keeps such.
    package static func makeTemporaryDirectory(prefix: String) throws(SystemError) -> String {
        let place = CurrentProcess.environmentVariable("TMPDIR") ?? "/tmp"
        let path = place + "/" + prefix + RandomBytes.name()
        guard unsafe mkdir(path, 0o700) == 0 else { throw SystemError("mkdir", path) }
        return path
    }

    /// Forces a directory's entries to the disk, so that a rename within it survives power loss.
    package static func synchroniseDirectory(_ path: String) throws(SystemError) {
        let directory = try FileHandle(path: path, [.read, .directory])
        try directory.synchronise()
    }
}
