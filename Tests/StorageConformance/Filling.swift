// SPDX-License-Identifier: Apache-2.0

public import DivanStorage

/// Puts `count` rows of 100 bytes into a store.
public func fill(_ engine: some StorageEngine, _ count: Int) throws -> Store {
    let store = engine.store(StoreName("rows", .integer))
    try engine.write { writer in
        for number in 0..<count {
            let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 100)
            try writer.set(value.span, forKey: Int64(number), in: store)
        }
    }
    return store
}
