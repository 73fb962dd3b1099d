// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import DivanDatabase
internal import DivanHTTP
internal import DivanListener
internal import DivanSystem
public import FoundationEssentials

/// A device that this one is paired with: each knows the other's key.
public struct PairedPeer: Sendable, Hashable, Identifiable {
    /// What tells it from others: 32 hexadecimal digits made of its key. No other device can have it, whatever name it
    /// gives itself.
    @ByBytes public private(set) var id: String
    /// The name that it gave itself when it was paired, or that it was given here since.
    @ByBytes public internal(set) var name: String
    /// The databases that the two share, under the same names on both.
    public internal(set) var databases: NameSet
    /// When it was paired, to the second.
    public let pairedAt: Date
    /// The SHA-256 of its public key.
    let key: [UInt8]
    /// What only the two devices know, by which they recognise each other on the network.
    let secret: [UInt8]
    /// Where it was last reached; nil when that is not known.
    var place: PeerPlace?

    init(
        key: [UInt8], name: String, databases: NameSet, secret: [UInt8],
        pairedAt seconds: Int64 = WallClock.secondsSince1970
    ) {
        id = PeerKey.id(of: key)
        self.key = key
        self.name = name
        self.databases = databases
        self.secret = secret
        pairedAt = Date(timeIntervalSince1970: Double(seconds))
    }

    /// Whether a database of this name can be shared: one of the app's, not one of the listener's own.
    static func isShareable(_ name: String) -> Bool {
        Manager.isValidDatabaseName(name) && !name.hasBytePrefix("_")
    }

    /// Letters and symbols that show nothing.
    private static let fillers: Set<Unicode.Scalar> = [
        "\u{034F}", "\u{115F}", "\u{1160}", "\u{2800}", "\u{3164}", "\u{FFA0}",
    ]

    /// Whether a text can be the name of a device: 1 to 64 bytes that a screen shows in one line.
    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.unicodeScalars.contains { !$0.properties.isWhitespace && !fillers.contains($0) }
            && text.unicodeScalars.allSatisfy {
                switch $0.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate,
                    .privateUse, .unassigned:
                    false
                default: true
                }
            }
    }
}

extension PairedPeer {
    /// Reads what `json` has written; nil when something of it is missing.
    init?(_ value: JSONValue) {
        guard let key = value["key"]?.string.flatMap(Hexadecimal.bytes), key.count == 32,
            let secret = value["secret"]?.string.flatMap(Hexadecimal.bytes), secret.count == 32,
            let name = value["name"]?.string, Self.isName(name),
            let databases = value["databases"]?.array, let time = value["paired"]?.int64
        else { return nil }
        self.init(
            key: key, name: name,
            databases: NameSet(databases.compactMap(\.string).filter(Self.isShareable)),
            secret: secret, pairedAt: time)
        place = value["place"]?.object.flatMap(PeerPlace.init)
    }

    var json: JSONValue {
        var value: JSONObject = [
            "key": .string(Hexadecimal.text(key)), "name": .string(name),
            "databases": .array(databases.sorted().map { .string($0) }),
            "secret": .string(Hexadecimal.text(secret)),
            "paired": .integer(Int64(clamping: pairedAt.timeIntervalSince1970)),
        ]
        if let place { value["place"] = .object(place.json) }
        return .object(value)
    }
}

extension PairedPeer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name and the ID; never the secret of the pair.
    public var description: String { "\(name) (\(id))" }

    /// The same as `description`.
    public var debugDescription: String { description }

    /// A mirror without children, so that dumping a value shows no more than its description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
