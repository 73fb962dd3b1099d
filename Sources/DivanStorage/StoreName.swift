// SPDX-License-Identifier: Apache-2.0

/// The name of a store and the kind of its keys.
///
/// ```swift
/// let documents = StoreName("documents", .bytes)
/// let revisions = StoreName("revisions", .integer)
/// ```
///
/// A name is made of ASCII letters, digits, `/`, `-`, `_` and `.`, 1 to 100 of them. Two names of
/// one engine must differ by more than case, and one name always goes with one kind of key.
public struct StoreName: Hashable, Sendable, CustomStringConvertible {
    /// What the keys of a store are.
    public enum KeyKind: UInt8, Hashable, Sendable {
        /// Signed 64-bit integers, in numerical order.
        case integer
        /// Byte strings, the empty one among them, in bytewise order.
        case bytes
    }

    /// The text of the name.
    public let name: String
    /// What the store's keys are.
    public let kind: KeyKind

    /// Makes a name.
    ///
    /// An unfit name is a mistake in the program, so it stops the program.
    public init(_ name: String, _ kind: KeyKind) {
        precondition(
            StoreName.isValid(name),
            "A store name has 1 to 100 ASCII letters, digits, '/', '-', '_' and '.': \(name)"
        )
        self.name = name
        self.kind = kind
    }

    /// Returns whether `name` can be the name of a store.
    public static func isValid(_ name: String) -> Bool {
        let allowed = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            case UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default:
                false
            }
        }
        return allowed && (1...100).contains(name.utf8.count)
    }

    /// The text of the name.
    public var description: String { name }
}
