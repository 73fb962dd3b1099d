// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import Foundation

/// A directory of a test's own, removed with it.
final class TestDirectory: Sendable {
    let path: String

    /// - Parameters:
    ///   - name: What it is for.
    ///   - inMemory: Whether it lies in memory, where the system has a place for that.
    init(_ name: String = "robust", inMemory: Bool = false) throws {
        let memory = URL(filePath: "/dev/shm")
        let isThere = inMemory && FileManager.default.isWritableFile(atPath: memory.path())
        path = (isThere ? memory : FileManager.default.temporaryDirectory)
            .appending(path: "divan-\(name)-\(UUID().uuidString)").path(percentEncoded: false)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of something in it.
    func path(_ name: String) -> String { path + "/" + name }

    /// The URL of something in it.
    func url(_ name: String) -> URL { URL(filePath: path(name)) }

    /// Copies something in it.
    func copy(_ name: String, to other: String) throws {
        try FileManager.default.copyItem(atPath: path(name), toPath: path(other))
    }

    /// Makes a database in it with some documents, and closes it.
    func makeDatabase(_ name: String, documents: Int = 20) throws {
        let database = try Database.forTest(at: path(name), create: true)
        try database.inBatch {
            for n in 0..<documents {
                try database.save(
                    MutableDocument(KnownBody.make("document-\(n)", n), id: "document-\(n)"))
            }
        }
        try database.putLocalDocument("local", ["n": 1])
        database.close()
    }
}

/// Runs blocking work on a thread of its own: other tests keep theirs, and it has not to wait for one of
/// a pool that they use up.
func offPool<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
