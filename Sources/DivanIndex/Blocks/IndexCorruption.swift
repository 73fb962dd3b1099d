// SPDX-License-Identifier: Apache-2.0

/// Bytes of an index that are not what an index holds. The index can be dropped and built anew.
package struct IndexCorruption: Error, CustomStringConvertible {
    /// What is wrong, in one sentence without any key or value.
    package var description: String

    /// Makes the error of a sentence.
    package init(_ description: String) { self.description = description }
}
