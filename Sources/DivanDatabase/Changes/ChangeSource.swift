// SPDX-License-Identifier: Apache-2.0

/// Where a change came from.
public enum ChangeSource: Sendable, Hashable {
    /// This process.
    case local
    /// Another process that has the database open.
    case otherProcess
    /// A replication that runs in this process, with the URL of its other end, without credentials.
    case replication(String)
}
