// SPDX-License-Identifier: Apache-2.0

/// What can go wrong when services are announced or looked for.
public struct DiscoveryError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What the caller can do about it.
    @nonexhaustive
    public enum Code: Sendable, Equatable {
        /// A name, a type or a text is not what DNS-SD allows: put it right.
        case invalidName
        /// The network refuses: it has no interface that multicasts, or the port is taken by a program that does not share it.
        case networkUnavailable
        /// The system's service for DNS-SD is not installed, does not run or does not answer: start it, or let Divan do its work.
        case serviceUnavailable
        /// It was stopped.
        case stopped
    }

    /// What the caller can do about it.
    public let code: Code
    /// One sentence: what is wrong, and how to put it right.
    public let message: String

    /// Makes an error.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What is asked of a discovery that was stopped.
    static let stopped = DiscoveryError(
        .stopped, "The discovery was stopped; make another one.")

    /// The message.
    public var description: String { message }
}
