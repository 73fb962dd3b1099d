// SPDX-License-Identifier: Apache-2.0

// The sentences of the module's errors, in one place.

extension PeerError {
    static var emptyCode: PeerError {
        PeerError(.invalidValue, "An empty text has no QR code; give one of at least one byte.")
    }

    static func longCode(_ count: Int, limit: Int, isLowest: Bool) -> PeerError {
        let remedy = isLowest ? "shorten it" : "shorten it, or choose a lower correction"
        return PeerError(
            .invalidValue,
            "The text has \(count) bytes, and a QR code with this correction takes \(limit) at most; \(remedy)."
        )
    }
}
