// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanListener

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
            "'\(HTTPURL.shown(address))' is no address that other devices can use; give the device's address of IPv4 or IPv6, or its name."
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

// Pairing.
extension PeerError {
    static var invalidName: PeerError {
        PeerError(
            .invalidValue,
            "A device's name has 1 to 64 bytes of UTF-8 in one line; choose another one.")
    }

    static var noDevice: PeerError {
        PeerError(
            .invalidValue,
            "A link leads to a listener that listens and has a device; set `options.device` and start it."
        )
    }

    static func unservedDatabase(_ name: String) -> PeerError {
        PeerError(
            .invalidValue,
            "'\(name)' is no database of the listener's manager; share one that is opened by it.")
    }

    static var ownLink: PeerError {
        PeerError(.invalidValue, "The link is this device's own; scan it with the other device.")
    }

    static var malformedFile: PeerError {
        PeerError(
            .storage, "The file peers.json is malformed; mend it, or remove it and pair again.")
    }

    static var unwritableFile: PeerError {
        PeerError(
            .storage, "The files of this device cannot be written; check the directory's rights.")
    }

    static var tooManyPeers: PeerError {
        PeerError(
            .storage,
            "A device has \(PeerDevice.mostPeers) peers at most; revoke one that is no longer used."
        )
    }

    static func unknownPeer(_ id: String) -> PeerError {
        PeerError(
            .unknownPeer, "No device '\(id.prefix(64))' is paired; `peers` lists those that are.")
    }

    static func noNetwork(_ problem: String) -> PeerError {
        PeerError(.unreachable, "The network cannot be used: \(problem)")
    }

    static var unreachable: PeerError {
        PeerError(
            .unreachable,
            "The other device answers at none of its addresses; bring both into one network and try again."
        )
    }

    static var otherDevice: PeerError {
        PeerError(
            .untrusted,
            "Another device answers at the addresses of the link; make a new link on the right one."
        )
    }

    static var rulesOfWriting: PeerError {
        PeerError(
            .invalidValue,
            "The listener has a rule for each write, which a pull from a peer would not ask; use a validation function of the database instead."
        )
    }

    static var noAnswer: PeerError {
        PeerError(
            .refused, "The other user has not answered in time; make a new link to try again.")
    }

    static var revokedMeanwhile: PeerError {
        PeerError(
            .refused,
            "A device was revoked while this one was being paired, which ends that; make a new link to try again."
        )
    }

    static func unshareable(_ name: String) -> PeerError {
        PeerError(
            .invalidValue,
            "'\(name.prefix(64))' cannot be shared; name a database of the app, which begins with a lower-case letter."
        )
    }

    static var malformedAnswer: PeerError {
        PeerError(
            .refused, "The other device answers what this one cannot read; update the older app.")
    }

    static var cancelled: PeerError {
        PeerError(.cancelled, "Pairing was cancelled; make a new link to try again.")
    }

    /// What the other device said instead of yes.
    static func refusal(_ name: String?, _ status: Int) -> PeerError {
        guard let name, let refusal = PairingRefusal(rawValue: name) else {
            return PeerError(
                .refused,
                "The other device does not pair (HTTP status \(status)); check that it shows a link now."
            )
        }
        return PeerError(.refused, refusal.reason)
    }
}
