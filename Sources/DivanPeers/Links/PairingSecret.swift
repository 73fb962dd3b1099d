// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// What a device must know to be paired: 16 bytes that cannot be guessed, good for one pairing.
///
/// Two secrets are compared in a time that tells nothing about them. A secret is never printed, not even by `dump`; ``bytes``
/// has it.
public struct PairingSecret: Sendable {
    /// The number of bytes.
    public static let size = 16

    /// The bytes.
    public let bytes: [UInt8]

    /// Makes a secret that cannot be guessed.
    public init() { bytes = RandomBytes.make(Self.size) }

    /// Takes the bytes of a secret; nil when they are not 16.
    ///
    /// - Parameter bytes: The bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
    }
}

extension PairingSecret: Hashable {
    /// Whether both have the same bytes, each of which is looked at.
    public static func == (left: PairingSecret, right: PairingSecret) -> Bool {
        var difference: UInt8 = 0
        for index in 0..<size { difference |= left.bytes[index] ^ right.bytes[index] }
        return difference == 0
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension PairingSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// That it is a secret; never its bytes.
    public var description: String { "PairingSecret(16 bytes)" }

    /// The same as `description`.
    public var debugDescription: String { description }

    /// A mirror without children, so that dumping a value shows no more than its description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
