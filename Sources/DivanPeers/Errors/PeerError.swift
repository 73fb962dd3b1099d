// SPDX-License-Identifier: Apache-2.0

/// What can go wrong between devices that meet.
///
/// ```swift
/// do {
///     let link = try PeerLink(scanned)
///     print("pairing with \(link)")
/// } catch let error as PeerError where error.code == .unsupportedVersion {
///     print("The other device has a newer app; update this one.")
/// }
/// ```
public struct PeerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure, by what a caller can do about them.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// A value of the app's is not allowed, such as a port, an address or a text for a QR code: put it right.
        case invalidValue
        /// A text is no peer link, or a damaged one: copy or scan it again.
        case invalidLink
        /// A newer release has made the peer link: update this app.
        case unsupportedVersion
        /// The other device cannot be reached: bring both into one network.
        case unreachable
        /// Another device answers than the one that made the link: make a new link on the right one.
        case untrusted
        /// The other device does not pair: its link counts no longer, or its user said no.
        case refused
        /// No device of this ID is paired.
        case unknownPeer
        /// The files of this device cannot be read or written, or there is no room in them.
        case storage
        /// The task was cancelled.
        case cancelled
    }

    /// What the caller can do about it.
    public let code: Code
    /// One sentence: what is wrong, and how to put it right. It quotes neither a link nor a secret.
    public let message: String

    /// Makes an error.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
