// SPDX-License-Identifier: Apache-2.0

/// Makes the JSON text of a record of the Yahoo! Cloud Serving Benchmark: ten fields of a hundred characters.
///
/// ```
/// {"field0":"…","field1":"…", … "field9":"…"}
/// ```
public struct RecordDocument {
    /// The characters of a field.
    public static let fieldLength = 100
    /// The fields of a record.
    public static let fieldCount = 10

    private static let characters = Array(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_".utf8)

    private var numbers: SeededNumbers

    /// Starts the series of documents of a seed.
    public init(seed: UInt64) { numbers = SeededNumbers(seed: seed) }

    /// Returns the next document's JSON text.
    public mutating func next() -> String {
        let fields = (0..<Self.fieldCount).map { "\"field\($0)\":\"\(field())\"" }
        return "{\(fields.joined(separator: ","))}"
    }

    private mutating func field() -> String {
        let bytes = (0..<Self.fieldLength).map { _ in
            Self.characters[numbers.next(below: Self.characters.count)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
