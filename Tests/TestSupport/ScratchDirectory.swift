// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A directory that goes with the object.
public final class ScratchDirectory: Sendable {
    /// Where it is.
    public let path: String

    /// Makes one.
    ///
    /// - Throws: What the system says.
    public init() throws {
        // In memory where there is such a place: the suites sync thousands of times.
        let memory = "/dev/shm/"
        let isThere = FileManager.default.isWritableFile(atPath: memory)
        path = (isThere ? memory : NSTemporaryDirectory()) + "divan-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Makes a directory in it, and returns its path.
    ///
    /// - Throws: What the system says.
    public func makeDirectory() throws -> String {
        let directory = path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        return directory
    }
}
