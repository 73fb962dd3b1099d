// SPDX-License-Identifier: Apache-2.0

// The sentences of the module's errors, in one place. None of them quotes a link, which has a secret.

extension PeerError {
    // MARK: - QR codes

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

    // MARK: - Values of a link

    static func invalidAddress(_ address: String) -> PeerError {
        PeerError(
            .invalidValue,
            "'\(address)' is no address that other devices can use; give the device's address of IPv4 or IPv6, or its name."
        )
    }

    static var addressCount: PeerError {
        PeerError(.invalidValue, "A device has 1 to 8 addresses; name those that others can use.")
    }

    static func invalidPort(_ port: Int) -> PeerError {
        PeerError(.invalidValue, "\(port) is no port; give one from 1 to 65535.")
    }

    static var invalidFingerprint: PeerError {
        PeerError(
            .invalidValue,
            "A certificate's fingerprint has 64 hexadecimal digits; give the SHA-256 that the listener tells."
        )
    }

    static func invalidDatabase(_ name: String) -> PeerError {
        PeerError(
            .invalidValue,
            "'\(name)' cannot be shared by a link; name a database of the app, which begins with a lower-case letter."
        )
    }

    static var invalidUser: PeerError {
        PeerError(
            .invalidValue,
            "A user's name has 1 to 200 bytes, no colon and no control character; choose another one."
        )
    }

    static func longLinkMade(most: Int) -> PeerError {
        PeerError(
            .invalidValue,
            "The link would be longer than \(most) bytes; name fewer addresses.")
    }

    // MARK: - Links that are read

    static var noLink: PeerError {
        PeerError(
            .invalidLink,
            "The text is no peer link, which begins with divan://; copy or scan it from the other device."
        )
    }

    static func longLink(most: Int) -> PeerError {
        PeerError(
            .invalidLink,
            "The text is longer than a peer link, which has \(most) bytes at most; copy the link alone."
        )
    }

    static func damagedLink(_ part: LinkPart) -> PeerError {
        PeerError(
            .invalidLink, "The peer link is damaged: \(part.rawValue); copy or scan it again.")
    }

    static func unsupportedVersion(_ version: Int64) -> PeerError {
        PeerError(
            .unsupportedVersion,
            "The peer link has version \(version), which this release does not know; update this app."
        )
    }
}
