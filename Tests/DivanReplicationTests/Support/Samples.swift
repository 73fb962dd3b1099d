// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import Testing

/// The text of a value, without content that a test does not care for.
func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// Parses what stands on the wire.
func wire(_ text: String, historyLimit: Int = .max) throws -> WireDocument {
    try WireDocument(parsing: Array(text.utf8).span, historyLimit: historyLimit)
}
