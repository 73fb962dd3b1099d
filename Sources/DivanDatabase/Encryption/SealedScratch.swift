// SPDX-License-Identifier: Apache-2.0

package import DivanSystem

/// A temporary file without a name, written once and then read, and encrypted with a key that is
/// nowhere but in memory and goes with it.
///
/// What is put aside may be the content of an encrypted database, or be meant for one. It is encrypted
/// in any case: that costs less than the disk does. One thread at a time.
package final class SealedScratch {
    private let file: FileHandle
    private let key = DataKey.random()
    private let writer: ContentWriter

    /// Makes an empty file.
    package init() throws(SystemError) {
        file = try FileHandle.nameless()
        writer = try ContentWriter(file, dataKey: key)
    }

    /// The bytes so far.
    package var length: Int { writer.length }

    /// Appends bytes.
    package func write(_ bytes: [UInt8]) throws(SystemError) { try writer.write(bytes) }

    /// Ends the writing, and returns what can be read. Called once.
    package func finish() throws(SystemError) -> ContentFile {
        try writer.finish(nil)
        return try ContentFile(file, dataKey: key, nil)
    }
}
