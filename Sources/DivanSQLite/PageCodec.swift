// SPDX-License-Identifier: Apache-2.0

internal import CPageCodec
internal import DivanStorage

/// What seals the files of one database: the fence around the C file system that does it.
///
/// Connections opened with it read and write sealed files and do not notice it. It wipes its copy of
/// the key when the last of them has released it. docs/encryption.md has the format.
@safe
final class PageCodec: Sendable {
    /// The bytes at the end of each page that hold what sealing adds.
    static let reserved = Int32(DIVAN_CODEC_RESERVED)
    /// The bytes at the head of a sealed file that say which file it is; never all zeros.
    static let identitySize = 16

    // Safe because it is valid from the end of `init` to `deinit` and never changes; what it points to
    // is guarded by a mutex of its own, and the file system it registers may be used by any thread.
    private nonisolated(unsafe) let codec: OpaquePointer
    /// The name of the file system.
    let name: String

    /// Takes a copy of a key.
    ///
    /// - Throws: `StorageError` with code `.unsupported` when OpenSSL lacks the cipher, or `.misuse`
    ///   when the key has not 32 bytes.
    init(key: any StorageKey) throws(StorageError) {
        var made: OpaquePointer?
        var isWhole = false
        key.lend { bytes in
            isWhole = bytes.count == Int(DIVAN_CODEC_KEY)
            guard isWhole else { return }
            // SAFETY: the bytes are borrowed for the call, which copies them, and there are as many
            // as it reads.
            unsafe bytes.withUnsafeBufferPointer { buffer in
                if let start = buffer.baseAddress { unsafe made = divan_codec_create(start) }
            }
        }
        guard isWhole else { throw StorageError.misuse("A key has 32 bytes.") }
        guard let created = unsafe made else {
            throw StorageError(.unsupported, "The system's OpenSSL has no AES-256-GCM.")
        }
        unsafe codec = created
        // SAFETY: the name is valid as long as the codec, and copied here.
        unsafe name = String(cString: divan_codec_name(created))
    }

    /// Whether a file begins a new epoch before it seals the next unit.
    ///
    /// - Parameters:
    ///   - count: The units that it has sealed in this one.
    ///   - began: When this one began, in seconds of the system's clock.
    ///   - now: The present, in seconds of the same clock.
    /// - Returns: Whether it does.
    static func isEpochOver(count: UInt32, began: Int64, now: Int64) -> Bool {
        divan_codec_epoch_is_over(count, began, now) != 0
    }

    deinit {
        // SAFETY: every connection holds a reference, so all files are closed.
        unsafe divan_codec_free(codec)
    }
}
