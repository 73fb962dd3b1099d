// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import Synchronization

/// Blobs in values that are coded: their content goes beside the JSON.
enum BlobCoding {
    /// Collects the blobs that are encoded.
    final class Collector: Sendable {
        private let collected = Mutex<[Blob]>([])

        var blobs: [Blob] { collected.withLock { $0 } }

        func add(_ blob: Blob) { collected.withLock { $0.append(blob) } }
    }

    @TaskLocal static var collector: Collector?
    /// The number of the store that blobs are decoded from; 0 for none.
    @TaskLocal static var store: UInt32 = 0

    static func collecting<T>(_ body: () throws -> T) rethrows -> (T, [Blob]) {
        let collector = Collector()
        let value = try $collector.withValue(collector, operation: body)
        return (value, collector.blobs)
    }
}

extension Blob: JSONCodable {
    /// Reads the object of a blob; nil for any other value.
    ///
    /// In a document that is decoded the content can be read; elsewhere the blob has its name only.
    public init?(jsonValue: JSONValue) {
        guard case .object(let properties) = jsonValue else { return nil }
        self.init(properties, store: BlobCoding.store)
    }

    /// Decodes the object of a blob.
    public init(from decoder: any Decoder) throws {
        let value = try JSONValue(from: decoder)
        guard let blob = Blob(jsonValue: value) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "This is not a blob."))
        }
        self = blob
    }

    /// Encodes the object of the blob; its content is not part of it.
    public func encode(to encoder: any Encoder) throws { try jsonValue.encode(to: encoder) }
}
