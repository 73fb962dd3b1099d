// SPDX-License-Identifier: Apache-2.0

@testable import DivanLMDB
import DivanStorage
import DivanStorageConformance
import Foundation

/// A directory that goes with the object.
final class ScratchDirectory: Sendable {
    let path: String

    init() throws {
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

    var file: String { path + "/main.mdb" }

    func makeDirectory() throws -> String {
        let directory = path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        return directory
    }

    /// Opens an engine in the directory itself.
    func open(
        mapSize: Int = LMDBPlace.firstMapSize, _ change: (inout StorageOptions) -> Void = { _ in }
    ) throws -> LMDBEngine {
        var options = StorageOptions()
        change(&options)
        return try LMDBEngine(LMDBPlace(path, options, firstMapSize: mapSize), options)
    }
}

extension StorageError.Code {
    /// The code of the storage error that `body` throws.
    static func thrown(by body: () throws -> Void) -> StorageError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StorageError)?.code
        }
    }
}

/// Puts `count` rows of 100 bytes into a store.
func fill(_ engine: LMDBEngine, _ count: Int) throws -> Store {
    let store = engine.store(StoreName("rows", .integer))
    try engine.write { writer in
        for number in 0..<count {
            let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 100)
            try writer.set(value.span, forKey: Int64(number), in: store)
        }
    }
    return store
}

/// A copy of lent bytes.
func bytes(_ span: Span<UInt8>) -> [UInt8] {
    span.withUnsafeBufferPointer { Array($0) }
}

/// The bytes of a file.
func contents(of path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: path)))
}

/// Writes a file in place, as damage does.
func write(_ bytes: [UInt8], to path: String) throws {
    try Data(bytes).write(to: URL(filePath: path))
}

/// Where bytes first stand in a file.
func position(of bytes: [UInt8], in file: [UInt8]) -> Int? {
    Data(file).range(of: Data(bytes))?.lowerBound
}
