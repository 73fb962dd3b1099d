// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanJSON
internal import DivanModel
internal import DivanPlatform

/// What a selector is asked about: a document, of which only what it names is looked up.
struct SelectorSubject {
    /// What `_id` and `_rev` are.
    private enum Names {
        case given(id: DocumentID?, revisionID: RevisionID?)
        /// Those of a document, which are looked up when they are asked for.
        case of(Document)
        /// None: what is asked about is an element, in which `_id` is a property as any other.
        case ofElement
    }

    let body: PackedValue
    private let names: Names
    private let isDeleted: Bool
    /// What `_conflicts` is: the revisions that lost; nil for none, or where it is no property.
    var conflicts: [RevisionID]?

    /// A value that need not be of a document.
    init(
        body: PackedValue, id: DocumentID? = nil, revisionID: RevisionID? = nil,
        isDeleted: Bool = false
    ) {
        self.body = body
        self.isDeleted = isDeleted
        names = .given(id: id, revisionID: revisionID)
    }

    /// An element of an array, or a key of an object.
    init(element: PackedValue) {
        body = element
        isDeleted = false
        names = .ofElement
    }

    /// A document.
    ///
    /// - Parameters:
    ///   - document: The document.
    ///   - tellsDeletion: Whether `_deleted` is there if it is deleted.
    init(_ document: Document, tellsDeletion: Bool = false) {
        body = document.body
        isDeleted = tellsDeletion && document.isDeleted
        names = .of(document)
    }

    /// Where a path leads; `_id`, `_rev` and `_deleted` are not in the body.
    func target(_ path: PropertyPath) -> PropertyPath.Target {
        guard path.isReserved, !isElement, let key = path.steps[0].key else {
            return path.target(in: body)
        }
        switch key {
        case "_id": return id.map { .value(PackedValue(.string($0.text))) } ?? .missing
        case "_rev":
            return revisionID.map { .value(PackedValue(.string($0.description))) } ?? .missing
        case "_deleted": return isDeleted ? .value(PackedValue(.bool(true))) : .missing
        case "_conflicts":
            guard let conflicts else { return path.target(in: body) }
            return .value(PackedValue(.array(conflicts.map { .string($0.description) })))
        default: return path.target(in: body)
        }
    }

    /// The partition that the document's ID names; nil for none.
    var partition: String? { id?.partition }

    private var isElement: Bool { if case .ofElement = names { true } else { false } }

    /// Whether a path leads to the document's ID.
    func isID(_ path: PropertyPath) -> Bool { path == .documentID && !isElement }

    private var id: DocumentID? {
        switch names {
        case .given(let id, _): id
        case .of(let document): document.id
        case .ofElement: nil
        }
    }

    private var revisionID: RevisionID? {
        switch names {
        case .given(_, let revisionID): revisionID
        case .of(let document): document.revisionID
        case .ofElement: nil
        }
    }
}

extension SelectorNode {
    /// Whether the conditions are fulfilled; nil when a regular expression gives up, and no other condition decides.
    func truth(of subject: SelectorSubject) -> Bool? {
        switch self {
        case .all(let nodes): return nodes.truth(decisive: false) { $0.truth(of: subject) }
        case .any(let nodes): return nodes.truth(decisive: true) { $0.truth(of: subject) }
        case .field(let path, let condition):
            switch subject.target(path) {
            case .missing:
                guard case .exists(false) = condition else { return false }
                return true
            case .noPath: return false
            case .value(let value):
                // IDs are ordered by their bytes, as the store of documents is.
                let order = subject.isID(path) ? SelectorOrder.bytes : SelectorOrder.unicode
                return condition.truth(of: value, order)
            }
        }
    }
}

extension PropertyPath {
    static let documentID = PropertyPath(key: "_id")
    static let conflicts = PropertyPath(key: "_conflicts")

    /// Whether it may be one of those that do not lead into the body.
    var isReserved: Bool { steps.count == 1 && steps[0].key?.utf8.first == 0x5F }

    /// Whether it leads to what an app has put into the body, and so to the same for selectors, indexes and the
    /// builder. Names with an underscore mean other things to each.
    var isInBody: Bool { steps.first?.key?.utf8.first != 0x5F }
}

extension SelectorNode {
    /// Whether a condition is on a property.
    func asks(for property: PropertyPath) -> Bool {
        switch self {
        case .all(let nodes), .any(let nodes): nodes.contains { $0.asks(for: property) }
        // What lies behind the property needs it, too.
        case .field(let path, _): path.steps.starts(with: property.steps)
        }
    }
}

extension Snapshot {
    /// The revisions of a document that lost against the one it shows; nil for none.
    func conflicts(of id: DocumentID) throws -> [RevisionID]? {
        guard try head(id)?.isConflicted ?? false else { return nil }
        return try record(id)?.tree.conflicts.map(\.id)
    }
}

/// The orders that selectors compare by.
package enum SelectorOrder {
    /// That of all values but IDs.
    package static let unicode = ValueOrder(.unicode, strings: ICUCollator.root)
    static let bytes = ValueOrder(.ascii, strings: ICUCollator.root)
}

extension SelectorCondition {
    /// Whether a value fulfils the condition; nil when a regular expression gives up.
    func truth(of value: PackedValue, _ order: ValueOrder) -> Bool? {
        switch self {
        case .not(let condition): return condition.truth(of: value, order).map { !$0 }
        case .less(let operand): return order.collate(value, operand.packed) < 0
        case .lessOrEqual(let operand): return order.collate(value, operand.packed) <= 0
        case .equal(let operand): return operand.isEqual(to: value)
        case .notEqual(let operand): return !operand.isEqual(to: value)
        case .greaterOrEqual(let operand): return order.collate(value, operand.packed) >= 0
        case .greater(let operand): return order.collate(value, operand.packed) > 0
        case .oneOf(let operands): return operands.hasOne(of: value)
        case .noneOf(let operands): return !operands.hasOne(of: value)
        case .exists(let isWanted): return isWanted
        case .type(let name): return value.selectorType.hasSameBytes(as: name)
        case .remainder(let divisor, let remainder):
            return value.remainder(by: divisor) == remainder
        case .pattern(let pattern): return Self.occurs(pattern, in: value)
        case .beginsWith(let prefix):
            return value.kind == .string && (value.string ?? "").utf8.starts(with: prefix)
        case .size(let count): return value.kind == .array && value.count == count
        case .containsAll(let operands): return operands.areAll(in: value)
        case .anyElement(let node):
            return value.truthOfSomeElement { node.truth(of: SelectorSubject(element: $0)) }
        case .eachElement(let node):
            guard value.kind == .array, value.count > 0 else { return false }
            let hasOther = value.truthOfSomeElement { element in
                node.truth(of: SelectorSubject(element: element)).map { !$0 }
            }
            return hasOther.map { !$0 }
        case .anyKey(let node):
            return value.keys.truth(decisive: true) {
                node.truth(of: SelectorSubject(element: PackedValue(.string($0))))
            }
        }
    }

    private static func occurs(_ pattern: any TextPattern, in value: PackedValue) -> Bool? {
        guard value.kind == .string, let text = value.string else { return false }
        let bytes = Array(text.utf8)
        return pattern.occurs(in: bytes.span)
    }
}

extension PackedValue {
    /// The name of the type as `$type` has it.
    var selectorType: String {
        switch kind {
        case .null: "null"
        case .bool: "boolean"
        case .integer, .unsigned, .double, .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// What a division leaves over; nil for anything but an integer.
    fileprivate func remainder(by divisor: Int64) -> Int64? {
        // The least integer divided by -1 has no quotient, but leaves nothing over.
        if let int64 { return divisor == -1 ? 0 : int64 % divisor }
        guard let unsigned else { return nil }
        return Int64(unsigned % divisor.magnitude)
    }

    /// Whether an element of an array fulfils a condition; false for anything else.
    func containsElement(_ condition: (PackedValue) -> Bool) -> Bool {
        guard kind == .array else { return false }
        var isFound = false
        // There is no stopping the walk, which steps over elements without looking into them.
        forEachElement { if !isFound { isFound = condition($0) } }
        return isFound
    }

    /// Whether an element of an array fulfils a condition, of which that may be unknown; false for anything else.
    fileprivate func truthOfSomeElement(_ condition: (PackedValue) -> Bool?) -> Bool? {
        var isUnknown = false
        let isFound = containsElement { element in
            let truth = condition(element)
            if truth == nil { isUnknown = true }
            return truth ?? false
        }
        return isFound || !isUnknown ? isFound : nil
    }
}
