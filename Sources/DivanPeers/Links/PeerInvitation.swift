// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem
public import FoundationEssentials

/// A secret for one pairing, and the moment from which it is no longer good.
///
/// ```swift
/// let invitation = PeerInvitation(lasting: .seconds(300))
/// print(invitation.expires, invitation.hasExpired())
/// ```
///
/// The device that has made the invitation decides whether it is still good. The other one compares with a clock of its own, which may
/// be wrong, and so should only warn.
public struct PeerInvitation: Sendable, Hashable {
    /// The secret.
    public let secret: PairingSecret
    /// The end of the invitation, in whole seconds since 1970: ten digits, so that a link is seen to be cut off.
    let end: Int64

    /// All ends: from the year 2001 to the year 2286.
    static let ends: ClosedRange<Int64> = 1_000_000_000...9_999_999_999

    /// Makes an invitation with a new secret.
    ///
    /// - Parameter duration: How long it is good, from now on; a part of a second is left off.
    public init(lasting duration: Duration) {
        self.init(
            PairingSecret(),
            end: WallClock.secondsSince1970.addingSaturated(duration.components.seconds))
    }

    /// Makes an invitation of a secret that is there.
    ///
    /// - Parameters:
    ///   - secret: The secret.
    ///   - expires: The moment from which it is no longer good; a part of a second is left off. A moment before 9 September
    ///     2001 counts as that day, and one after 20 November 2286 as that day.
    public init(secret: PairingSecret, expires: Date) {
        self.init(secret, end: Int64(clamping: expires.timeIntervalSince1970.rounded(.down)))
    }

    init(_ secret: PairingSecret, end: Int64) {
        self.secret = secret
        self.end = min(max(end, Self.ends.lowerBound), Self.ends.upperBound)
    }

    /// The moment from which it is no longer good.
    public var expires: Date { Date(timeIntervalSince1970: Double(end)) }

    /// Whether it is no longer good.
    ///
    /// - Parameter date: The moment to ask about; now, unless it is given.
    /// - Returns: Whether the moment is that of ``expires`` or later.
    public func hasExpired(at date: Date = Date()) -> Bool { date >= expires }
}
