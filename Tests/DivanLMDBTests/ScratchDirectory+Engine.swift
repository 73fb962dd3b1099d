// SPDX-License-Identifier: Apache-2.0

@testable import DivanLMDB
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation

extension ScratchDirectory {
    var file: String { path + "/main.mdb" }

    /// Opens an engine in the directory itself.
    func open(
        mapSize: Int = LMDBPlace.firstMapSize, _ change: (inout StorageOptions) -> Void = { _ in }
    ) throws -> LMDBEngine {
        var options = StorageOptions()
        change(&options)
        return try LMDBEngine(LMDBPlace(path, options, firstMapSize: mapSize), options)
    }
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
