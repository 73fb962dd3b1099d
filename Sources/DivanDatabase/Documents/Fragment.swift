// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

/// A value somewhere inside a document, or the absence of one.
///
/// Subscripts chain without checks between: a step into something that is not there gives an absent
/// fragment.
///
/// ```swift
/// document["address"]["zip"].string        // String?
/// document["tags"][0].string               // String?
/// copy["address"]["zip"] = "1010"          // makes "address" an object when there is none
/// copy["done"] = true
/// copy["title"] = Fragment(title)          // a variable instead of a literal
/// ```
public struct Fragment: Sendable {
    private enum Storage: Sendable {
        case absent
        case packed(PackedValue)
        case value(JSONValue)
        /// A value with blobs in it that are in no database yet.
        case unsaved(JSONValue, blobs: [Blob])

        init(_ value: JSONValue?, blobs: [Blob]) {
            guard let value else {
                self = .absent
                return
            }
            self = blobs.isEmpty ? .value(value) : .unsaved(value, blobs: blobs)
        }
    }

    private var storage: Storage
    /// The store of the database it comes from, by number; 0 for none.
    let store: UInt32

    /// Blobs in the value that are in no database yet.
    var unsavedBlobs: [Blob] { if case .unsaved(_, let blobs) = storage { blobs } else { [] } }

    /// The blobs in the value that have their content somewhere: in no database yet, or in the one that the fragment comes
    /// from.
    public var blobs: [Blob] {
        let unsaved = unsavedBlobs
        guard store != 0 else { return unsaved }
        if case .packed(let packed) = storage, !packed.mayHoldBlobs { return unsaved }
        var found = unsaved
        value?.forEachBlob { object in
            guard !unsaved.contains(where: { $0.properties == object }),
                let blob = Blob(object, store: store)
            else { return }
            found.append(blob)
        }
        return found
    }

    /// A fragment of a packed value; nil is an absent one.
    package init(_ packed: PackedValue?, store: UInt32 = 0) {
        storage = packed.map { .packed($0) } ?? .absent
        self.store = store
    }

    /// A fragment that holds a JSON value; nil is an absent one.
    public init(_ value: JSONValue?) { self.init(value, store: 0, blobs: []) }

    init(_ value: JSONValue?, store: UInt32, blobs: [Blob]) {
        storage = Storage(value, blobs: blobs)
        self.store = store
    }

    /// A fragment that holds a Swift value.
    public init(_ value: some JSONConvertible) {
        self.init(value.jsonValue, store: 0, blobs: value.blobs)
    }

    /// Whether there is a value; JSON null is one.
    public var exists: Bool { if case .absent = storage { false } else { true } }

    /// The value, decoded; nil when absent.
    public var value: JSONValue? {
        switch storage {
        case .absent: nil
        case .packed(let packed): packed.jsonValue()
        case .value(let value), .unsaved(let value, _): value
        }
    }

    /// The value of a member of an object.
    ///
    /// Setting one in something that is not an object makes it one; setting an absent fragment
    /// removes the member.
    public subscript(key: String) -> Fragment {
        get {
            switch storage {
            case .absent: Fragment(JSONValue?.none)
            case .packed(let packed): Fragment(packed[key], store: store)
            case .value(let value), .unsaved(let value, _):
                Fragment(value[key], store: store, blobs: unsavedBlobs)
            }
        }
        set {
            var object: JSONObject = if case .object(let object)? = value { object } else { [:] }
            object[key] = newValue.value
            storage = Storage(.object(object), blobs: unsavedBlobs + newValue.blobs)
        }
    }

    /// The value of an element of an array; absent when the index is out of bounds.
    ///
    /// Setting an element out of bounds, or in something that is not an array, does nothing.
    public subscript(index: Int) -> Fragment {
        get {
            switch storage {
            case .absent: Fragment(JSONValue?.none)
            case .packed(let packed): Fragment(packed[index], store: store)
            case .value(let value), .unsaved(let value, _):
                Fragment(value[index], store: store, blobs: unsavedBlobs)
            }
        }
        set {
            guard case .array(var array)? = value, array.indices.contains(index) else { return }
            array[index] = newValue.value ?? .null
            storage = Storage(.array(array), blobs: unsavedBlobs + newValue.blobs)
        }
    }

    /// The blob at a member; setting nil removes the member.
    @_disfavoredOverload
    public subscript(key: String) -> Blob? {
        get { self[key].blob }
        set { self[key] = newValue.map { Fragment($0) } ?? nil }
    }

    /// The packed form, where the value has not been decoded.
    package var packed: PackedValue? {
        if case .packed(let packed) = storage { packed } else { nil }
    }
}

// MARK: - Typed access

extension Fragment {
    /// Whether the value is JSON null.
    public var isNull: Bool { value == .null }

    /// The string, or nil for anything else.
    public var string: String? {
        if case .packed(let packed) = storage { packed.string } else { value?.string }
    }

    /// The number when it is an integer that fits, or nil.
    public var int: Int? { int64.flatMap { Int(exactly: $0) } }

    /// The number as a 64-bit integer, or nil when it is none or does not fit.
    public var int64: Int64? {
        if case .packed(let packed) = storage { packed.int64 } else { value?.int64 }
    }

    /// The number as a double, or nil for anything else.
    public var double: Double? {
        if case .packed(let packed) = storage { packed.double } else { value?.double }
    }

    /// The boolean, or nil for anything else.
    public var bool: Bool? {
        if case .packed(let packed) = storage { packed.bool } else { value?.bool }
    }

    /// The elements, or nil when the value is no array.
    public var array: [JSONValue]? { if case .array(let array)? = value { array } else { nil } }

    /// The members, or nil when the value is no object.
    public var object: JSONObject? { if case .object(let object)? = value { object } else { nil } }

    /// The number of elements or members; 0 for anything else.
    public var count: Int {
        if case .packed(let packed) = storage {
            packed.count
        } else {
            array?.count ?? object?.count ?? 0
        }
    }
}

extension Fragment: Equatable {
    /// Fragments are equal when their values are; absence equals absence only.
    public static func == (left: Fragment, right: Fragment) -> Bool { left.value == right.value }
}

extension Fragment: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self.init(JSONValue.string(value)) }
    /// An integer.
    public init(integerLiteral value: Int64) { self.init(JSONValue.integer(value)) }
    /// A double.
    public init(floatLiteral value: Double) { self.init(JSONValue.double(value)) }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self.init(JSONValue.bool(value)) }
    /// An absent value: assigning it removes the property.
    public init(nilLiteral: ()) { self.init(JSONValue?.none) }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self.init(JSONValue.array(elements)) }
    /// An object.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object: JSONObject = [:]
        for (key, value) in elements { object[key] = value }
        self.init(JSONValue.object(object))
    }
}
