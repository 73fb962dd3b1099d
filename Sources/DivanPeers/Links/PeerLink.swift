// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import DivanDatabase
internal import DivanHTTP

/// All that one device must know to be paired with another one, as a text of about 120 characters.
///
/// ```swift
/// let link = try PeerLink(
///     endpoint, database: "notes", user: nil, invitation: PeerInvitation(lasting: .seconds(300)))
/// print(try link.qrCode().terminal(), terminator: "")      // to be scanned
/// print(link.text)                                         // to be sent
/// ```
///
/// The other device reads the text that it scanned or was sent:
///
/// ```swift
/// let link = try PeerLink(scanned)
/// print("Pairing with \(link)")                            // the secret is not shown
/// ```
///
/// Who has the text can pair with the device until the invitation is used or ends. So ``text`` belongs on a screen or in a message to one
/// person. ``description`` hides the secret, and is what belongs in a log.
///
/// ## The form
/// A URI (RFC 3986) with a scheme of its own. The secret stands in the fragment, which a browser does not send to a server:
///
///     divan://192.168.1.7:49213/notes#1&a=fd00::7&u=ann&c=...&s=...&x=1795711385
///             ^ the first       ^     ^ ^         ^     ^     ^     ^ end, in seconds since 1970, ten digits
///               address, port   |     | |         user  |     secret, 16 bytes
///                               |     | other addresses certificate's SHA-256, 32 bytes
///                               |     version of the form
///                               database
///
/// Bytes are written in base64url without padding (RFC 4648, 5). User and other addresses may be missing. The order is
/// not fixed, but a link is written with a digit at its end: programs that find links in messages leave off a final hyphen or dot. What is unknown is
/// ignored: parameters, and a query, which some programs add. A later form that cannot be read in this way will have another version.
///
/// ## Invariants
/// 1. Reading `text` gives a link that is equal.
/// 2. `text` is ASCII, at most 2,048 bytes, and begins with `divan://`.
///
/// ## What it does not do
/// A link is no proof: it tells what its author wants. The certificate proves the device, and the secret proves to that device that the
/// link was seen. Links do not contain passwords.
public struct PeerLink: Sendable, Hashable {
    /// The most bytes of a link's text.
    public static let mostBytes = 2_048

    /// Where the device serves, and its certificate.
    public let endpoint: PeerEndpoint
    /// The name of the database.
    @ByBytes public private(set) var database: String
    /// The user as whom to connect; nil when the pairing decides.
    @ByBytes public private(set) var user: String?
    /// The secret and when it ends.
    public let invitation: PeerInvitation

    /// Makes a link.
    ///
    /// - Parameters:
    ///   - endpoint: Where the device serves.
    ///   - database: The name of the database, which is not one of the listener's own.
    ///   - user: The user as whom to connect: 1 to 200 bytes without colons and control characters.
    ///   - invitation: The secret and when it ends.
    /// - Throws: `PeerError` with code `.invalidValue`, also when the link would be longer than 2,048 bytes.
    public init(
        _ endpoint: PeerEndpoint, database: String, user: String? = nil, invitation: PeerInvitation
    ) throws(PeerError) {
        guard Self.isDatabase(database) else { throw .invalidDatabase(database) }
        if let user, !Self.isUser(user) { throw .invalidUser }
        self.endpoint = endpoint
        self.database = database
        self.user = user
        self.invitation = invitation
        guard text.utf8.count <= Self.mostBytes else { throw .longLinkMade(most: Self.mostBytes) }
    }

    /// Makes the QR code of the link.
    ///
    /// - Parameter correction: The least level of correction. `.low` is enough for a screen, and gives the largest modules.
    /// - Returns: The code, of version 6 (41 modules a side) for a link with one address of IPv4.
    /// - Throws: `PeerError` with code `.invalidValue` when the link is too long for the level, which does not happen with `.low`.
    public func qrCode(correction: QRCode.Correction = .low) throws(PeerError) -> QRCode {
        try QRCode(text, correction: correction)
    }

    /// The URLs of the database, one for each address, without user and password.
    public var urls: [String] { endpoint.urls(of: database) }

    /// Whether a name is one of a database that is the app's own.
    private static func isDatabase(_ name: String) -> Bool {
        Manager.isValidDatabaseName(name) && !name.hasBytePrefix("_")
    }

    /// Whether a name is one of a user, and does nothing to a terminal that shows it.
    private static func isUser(_ name: String) -> Bool {
        (1...200).contains(name.utf8.count) && !name.containsByte(UInt8(ascii: ":"))
            && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}

extension PeerLink: CustomStringConvertible {
    /// The link up to its fragment, and nothing of the secret.
    public var description: String { "\(beginning)#(secret)" }
}
