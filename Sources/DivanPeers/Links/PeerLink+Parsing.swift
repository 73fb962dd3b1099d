// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

extension PeerLink {
    /// Reads a link.
    ///
    /// - Parameter text: The link. Spaces and line breaks around it are left off; upper and lower case of the scheme are the
    ///   same.
    /// - Throws: `PeerError` with code `.invalidLink` when the text is no link or a damaged one, or `.unsupportedVersion` when a newer
    ///   release has made it. The error does not quote the text.
    public init(_ text: String) throws(PeerError) {
        guard text.utf8.count <= Self.mostBytes else { throw .longLink(most: Self.mostBytes) }
        let parts = try LinkParts(Array(text.utf8))
        let (place, port) = try parts.place()
        let parameters = try parts.parameters()
        let fingerprint = try parameters.certificate()
        let endpoint = try Self.intact(.addresses) { () throws(PeerError) in
            try PeerEndpoint(
                [place] + (try parameters.addresses()), port: port, fingerprint: fingerprint)
        }
        let database = try parts.database()
        let user = parameters["u"]
        let invitation = PeerInvitation(try parameters.secret(), end: try parameters.end())
        self = try Self.intact(.names) { () throws(PeerError) in
            try PeerLink(endpoint, database: database, user: user, invitation: invitation)
        }
    }

    /// Takes an error about a value, which the app may have given, for damage to the link that it was read from.
    private static func intact<T>(
        _ part: LinkPart, _ body: () throws(PeerError) -> T
    ) throws(PeerError) -> T {
        do { return try body() } catch { throw .damagedLink(part) }
    }
}

/// The bytes of a link between its delimiters.
private struct LinkParts {
    private let authority: ArraySlice<UInt8>
    private let path: ArraySlice<UInt8>
    private let fragment: ArraySlice<UInt8>

    /// Cuts a link, and looks at nothing but its scheme, its characters and its version.
    init(_ bytes: [UInt8]) throws(PeerError) {
        let text = Self.trimmed(bytes[...])
        let scheme = Array(LinkForm.scheme.utf8)
        // Bytes that only become one of these are no characters of a link, which is looked at next.
        guard text.count >= scheme.count, text.prefix(scheme.count).map({ $0 | 0x20 }) == scheme
        else { throw .noLink }
        guard text.allSatisfy(Self.isAllowed) else { throw .damagedLink(.characters) }
        let halves = text.dropFirst(scheme.count).split(
            separator: UInt8(ascii: "#"), omittingEmptySubsequences: false)
        guard halves.count == 2 else { throw .damagedLink(.fragment) }
        // A later version may mean something else by all that follows.
        let version = halves[1].prefix { $0 != UInt8(ascii: "&") }
        guard let number = LinkNumber.read(version, mostDigits: 4) else {
            throw .damagedLink(.fragment)
        }
        guard String(number).hasSameBytes(as: LinkForm.version) else {
            throw .unsupportedVersion(number)
        }
        fragment = halves[1].dropFirst(version.count)
        let head = halves[0].prefix { $0 != UInt8(ascii: "?") }
        authority = head.prefix { $0 != UInt8(ascii: "/") }
        path = head.dropFirst(authority.count)
    }

    /// The first address, and the port.
    func place() throws(PeerError) -> (PeerAddress, UInt16) {
        guard let colon = authority.lastIndex(of: UInt8(ascii: ":")),
            let number = LinkNumber.read(authority[(colon + 1)...], mostDigits: 5),
            let port = UInt16(exactly: number), port > 0
        else { throw .damagedLink(.port) }
        let host = authority[..<colon]
        let isBracketed =
            host.first == UInt8(ascii: "[") && host.last == UInt8(ascii: "]") && host.count > 2
        let place = PeerAddress(isBracketed ? host.dropFirst().dropLast() : host)
        guard let place, place.isIPv6 == isBracketed else { throw .damagedLink(.addresses) }
        return (place, port)
    }

    /// The name of the database, whose own slashes are encoded.
    func database() throws(PeerError) -> String {
        let name = path.dropFirst()
        guard !name.contains(UInt8(ascii: "/")), let decoded = PercentEncoding.decode(name) else {
            throw .damagedLink(.names)
        }
        return decoded
    }

    /// The parameters that stand behind the version.
    func parameters() throws(PeerError) -> LinkParameters {
        try LinkParameters(fragment.split(separator: UInt8(ascii: "&")))
    }

    /// Without spaces and line breaks at both ends.
    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
        let start = bytes.drop(while: isSpace)
        return start[..<(start.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start.startIndex)]
    }

    /// Whether a URI may contain a character (RFC 3986, 2).
    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && !forbidden.contains(byte)
    }

    private static let forbidden = Array("\"<>\\^`{|}".utf8)
}

/// The known parameters of a link, decoded from percent escapes.
private struct LinkParameters {
    private static let known: NameSet = ["a", "u", "c", "s", "x"]
    private var values = NameMap<String>()

    init(_ pieces: [ArraySlice<UInt8>]) throws(PeerError) {
        for piece in pieces {
            let key = piece.prefix { $0 != UInt8(ascii: "=") }
            let name = String(decoding: key, as: UTF8.self)
            guard Self.known.contains(name), key.count < piece.count else { continue }
            guard let value = PercentEncoding.decode(piece.dropFirst(key.count + 1)),
                values.updateValue(value, forKey: name) == nil
            else { throw .damagedLink(.repetition) }
        }
    }

    subscript(name: String) -> String? { values[name] }

    /// The addresses beside the first one.
    func addresses() throws(PeerError) -> [PeerAddress] {
        guard let value = values["a"] else { return [] }
        var addresses: [PeerAddress] = []
        for part in value.utf8.split(
            separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        {
            guard let address = PeerAddress(part), addresses.count < PeerEndpoint.mostAddresses
            else { throw .damagedLink(.addresses) }
            addresses.append(address)
        }
        return addresses
    }

    func certificate() throws(PeerError) -> String {
        guard let bytes = values["c"].flatMap({ LinkForm.decode($0, count: 32) }) else {
            throw .damagedLink(.certificate)
        }
        return LinkForm.digits(of: bytes)
    }

    func secret() throws(PeerError) -> PairingSecret {
        let bytes = values["s"].flatMap { LinkForm.decode($0, count: PairingSecret.size) }
        guard let secret = bytes.flatMap({ PairingSecret(bytes: $0) }) else {
            throw .damagedLink(.secret)
        }
        return secret
    }

    func end() throws(PeerError) -> Int64 {
        guard
            let end = values["x"].flatMap({ LinkNumber.read(Array($0.utf8)[...], mostDigits: 10) }),
            PeerInvitation.ends.contains(end)
        else { throw .damagedLink(.end) }
        return end
    }
}

/// Decimal numbers of links: digits alone, of which the first is 0 only in 0 itself.
private enum LinkNumber {
    static func read(_ bytes: ArraySlice<UInt8>, mostDigits: Int) -> Int64? {
        guard (1...mostDigits).contains(bytes.count),
            bytes.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
            bytes.count == 1 || bytes.first != UInt8(ascii: "0")
        else { return nil }
        return Int64(String(decoding: bytes, as: UTF8.self), radix: 10)
    }
}
