// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension LiveDocument {
    /// When the document is purged by itself; nil for never.
    ///
    /// - Throws: As `Database.expirationDate(of:)`.
    public var expirationDate: Date? { get throws { try database.expirationDate(of: id) } }

    /// Sets when the document is purged by itself, here only; nil for never.
    ///
    /// - Throws: As `Database.setExpiration(of:at:)`.
    public func setExpirationDate(_ date: Date?) throws {
        try database.setExpiration(of: id, at: date)
    }
}
