// SPDX-License-Identifier: Apache-2.0

import DivanSystem

/// A folder that goes with the test.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws { path = try Files.makeTemporaryDirectory(prefix: "divan-system-tests-") }

    deinit { try? Files.remove(path) }

    /// The path of a file in the folder.
    func file(_ name: String = "file") -> String { path + "/" + name }

    /// Makes a file with some bytes.
    func make(_ bytes: [UInt8], named name: String = "file") throws -> String {
        let path = file(name)
        try FileHandle(path: path, [.write, .new]).write(bytes)
        return path
    }
}
