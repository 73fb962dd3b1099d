// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// The properties of a mutable document: packed bytes, and what has been edited since.
///
///     packed                changes                     what a save stores
///     age 30, name "Ann"  + age 31, nick removed    =   packed.replacing(changes)
///
/// An edit remembers the property it set, so saving it copies the bytes of all the others; only what
/// was asked for is decoded. Properties set as a whole are kept as an object until they are packed.
/// The stubs of the attachments stay in `packed` through all of this.
struct EditableProperties {
    private static let attachments = "_attachments"

    private var packed: PackedValue
    /// The properties set since `packed`; `Optional.none` for one that was removed.
    private var changes: NameMap<JSONValue?> = [:]
    /// The properties, when they were set as a whole; then `packed` is out of date but for the stubs.
    private var whole: JSONObject?

    init(_ packed: PackedValue) { self.packed = packed }

    init(_ whole: JSONObject) {
        packed = .emptyObject
        self.whole = whole
    }

    // MARK: - Reading

    /// The stubs of the attachments, which are no properties.
    var stubs: PackedValue? { packed[Self.attachments] }

    /// A property; `store` is where its blobs are, `blobs` those that are in no store yet.
    func fragment(_ key: String, store: UInt32, blobs: [Blob]) -> Fragment {
        guard key != Self.attachments else { return nil }
        if let whole { return Fragment(whole[key], store: store, blobs: blobs) }
        if let change = changes[key] { return Fragment(change, store: store, blobs: blobs) }
        if blobs.isEmpty { return Fragment(packed[key], store: store) }
        // A save that was refused or undone has packed them.
        return Fragment(packed[key]?.jsonValue(), store: store, blobs: blobs)
    }

    /// All properties, decoded.
    var object: JSONObject {
        if let whole { return whole }
        var object: JSONObject = [:]
        if case .object(let stored) = packed.jsonValue() { object = stored }
        for (key, value) in changes { object[key] = value }
        if stubs != nil { object[Self.attachments] = nil }
        return object
    }

    var keys: [String] {
        whole == nil && changes.isEmpty && stubs == nil ? packed.keys : object.map(\.key)
    }

    var count: Int {
        whole == nil && changes.isEmpty && stubs == nil ? packed.count : object.count
    }

    // MARK: - Editing

    /// Replaces the stubs.
    mutating func setStubs(_ stubs: PackedValue?) {
        let value = stubs.map { JSONValue?.some($0.jsonValue()) } ?? JSONValue?.none
        packed = packed.replacing([Self.attachments: value])
    }

    /// Sets all properties; the attachments stay.
    mutating func replaceAll(_ properties: JSONObject) {
        whole = properties
        changes = [:]
    }

    /// As for an object, from its packed form.
    mutating func replaceAll(_ properties: PackedValue) {
        let stubs = stubs
        packed = properties
        if let stubs, self.stubs == nil {
            packed = packed.replacing([Self.attachments: stubs.jsonValue()])
        }
        whole = nil
        changes = [:]
    }

    mutating func set(_ value: JSONValue?, forKey key: String) {
        if whole != nil { whole?[key] = value } else { changes.updateValue(value, forKey: key) }
    }

    // MARK: - Packing

    /// Packs the properties and returns them.
    ///
    /// - Throws: `.invalidDocument` when one cannot be stored as JSON; the edits are then kept.
    mutating func pack(id: DocumentID) throws -> PackedValue {
        if var whole {
            if let stubs, whole[Self.attachments] == nil {
                whole[Self.attachments] = stubs.jsonValue()
            }
            let value = JSONValue.object(whole)
            try value.checkStorable(id: id)
            packed = PackedValue(value)
            self.whole = nil
        } else if !changes.isEmpty {
            for (_, change) in changes {
                try change?.checkStorable(id: id, depth: JSONValue.deepestStored - 1)
            }
            packed = packed.replacing(changes)
            changes = [:]
        }
        return packed
    }
}

extension PackedValue {
    static let emptyObject = PackedValue(.object([:]))
}

extension JSONValue {
    /// The deepest nesting that is stored; deeper values could not be read back by other parsers.
    package static let deepestStored = 512

    /// Refuses what JSON cannot hold: NaN, infinities, and nesting over the limit.
    func checkStorable(id: DocumentID, depth: Int = deepestStored) throws {
        guard isNested(atMost: depth) else {
            throw DatabaseError(
                .invalidDocument,
                "Document '\(id)' is nested deeper than \(Self.deepestStored) levels; make it "
                    + "flatter.", documentID: id)
        }
        guard isFinite else {
            throw DatabaseError(
                .invalidDocument,
                "Document '\(id)' has a property that is NaN or infinite, which JSON cannot store; "
                    + "use null or a string.", documentID: id)
        }
    }

    /// Whether every number in the value is one that JSON has.
    package var isFinite: Bool {
        switch self {
        case .double(let number): number.isFinite
        case .array(let elements): elements.allSatisfy(\.isFinite)
        case .object(let members): members.allSatisfy(\.value.isFinite)
        default: true
        }
    }
}
