// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// How keys of any length lie in a store whose engine takes at most 511 bytes, in exact order.
///
/// A key of up to 480 bytes is stored as it is. A longer one is cut into chunks of 480 bytes. Its first
/// chunk, followed by a zero byte, stands among the short keys; its value is the number of a *space*. In
/// the database for long keys, the keys of a space begin with its number. The rest of the key is stored
/// there: as it is when it has at most 480 bytes, otherwise its next chunk and a zero byte, whose value
/// is the number of the next space.
///
///      store    apple                     value
///               C₁ 00                     → space 7       every key that begins with chunk C₁
///               zebra                     value
///      long     7 ‖ "abc"                 value           the key C₁ abc
///               7 ‖ C₂ 00                 → space 9
///               9 ‖ "x"                   value           the key C₁ C₂ x
///
/// Keys that share long beginnings share spaces, so each level is stored once, and the last level is a
/// B-tree like any other: no bucket is read or rewritten for one row.
///
/// ## Order
///
/// `C 00`, which has 481 bytes, is greater than every stored key below the keys it stands for, and less
/// than every one above: the only other key that begins with C is C itself, which is shorter, and less
/// than all keys that go on after C. So the order of the stored keys, each followed into its space, is
/// the order of the keys.
///
/// ## The first byte
///
/// LMDB takes no empty key. A key that is empty or begins with a zero byte is stored with a zero byte
/// before it, which keeps the order: such keys are below all others, and among themselves the byte
/// changes nothing.
///
/// ## Checksums
///
/// A value's checksum covers the whole key, so a wrong turn on the way to it is noticed. The value of a
/// chunk is the number of its space, 8 bytes big-endian, and a checksum over the stored key and these.
enum LongKeys {
    /// The most bytes of a stored key that is not cut.
    static let limit = 480
    /// The bytes of a space's number.
    static let spaceSize = 8

    /// Whether a key is stored as it is, byte for byte.
    @inline(__always)
    static func isPlain(_ key: UnsafeRawBufferPointer) -> Bool {
        // SAFETY: the first byte is read only when there is one.
        unsafe !key.isEmpty && key.count <= limit && key[0] != 0
    }

    /// The stored form of a key before it is cut.
    static func stored(_ key: Span<UInt8>) -> [UInt8] {
        let bytes = [UInt8](copying: key)
        return bytes.first ?? 0 == 0 ? [0] + bytes : bytes
    }

    /// The key that stands for a chunk in a space; the store itself has no number.
    static func chunkKey(_ chunk: ArraySlice<UInt8>, in space: UInt64?) -> [UInt8] {
        endKey(chunk, in: space) + [0]
    }

    /// The key of what is left in a space.
    static func endKey(_ rest: ArraySlice<UInt8>, in space: UInt64?) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(spaceSize + rest.count + 1)
        if let space {
            KeyEncoding.append(space, to: &key)
        }
        key += rest
        return key
    }

    /// Whether a stored key stands for a chunk.
    @inline(__always)
    static func isChunk(length: Int, inSpace: Bool) -> Bool {
        length == limit + 1 + (inSpace ? spaceSize : 0)
    }

    /// The value of a chunk's key, without its checksum.
    static func value(of space: UInt64) -> [UInt8] {
        var value: [UInt8] = []
        KeyEncoding.append(space, to: &value)
        return value
    }
}
