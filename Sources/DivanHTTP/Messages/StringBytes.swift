// SPDX-License-Identifier: Apache-2.0

extension String {
    /// Whether a byte stands in its UTF-8. Texts of heads are asked this often, and a loop over their
    /// span takes a quarter of the instructions of `utf8.contains`.
    package func containsByte(_ byte: UInt8) -> Bool {
        let utf8 = utf8
        let bytes = utf8.span
        for index in bytes.indices where bytes[index] == byte { return true }
        return false
    }
}
