// SPDX-License-Identifier: Apache-2.0

/// What can go wrong between devices that meet.
public struct PeerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure, by what a caller can do about them.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// A value of the app's is not allowed, such as a port, an address or a text for a QR code: put it right.
        case invalidValue
    }

    /// What the caller can do about it.
    public let code: Code
    /// One sentence: what is wrong, and how to put it right. It does not quote the text.
    public let message: String

    /// Makes an error.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
