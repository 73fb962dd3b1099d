// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// The way to a value inside a document: from the top, step by step.
///
///     name                 a property
///     address.zip          a property of an object
///     tags[0]  tags.0      an element of an array, counted from 0
///     a\.b                 the property "a.b"
///     \$ref                the property "$ref", which would be an operator in a selector
///
/// The same text names the same path in a selector, in an index and in a query.
struct PropertyPath: Hashable, Sendable {
    /// One step.
    struct Step: Hashable, Sendable {
        /// The key of a property; nil for an index in brackets.
        @ByBytes var key: String?
        /// The place of an element; nil for a key that is no number.
        var index: Int?

        init(key: String) {
            self.key = key
            index = Int(key).flatMap { $0 >= 0 && String($0) == key ? $0 : nil }
        }

        init(index: Int) { self.index = index }
    }

    /// What a path leads to.
    enum Target {
        case value(PackedValue)
        /// The last object on the way has no such property.
        case missing
        /// Something on the way is neither an object nor an array with such an element.
        case noPath
    }

    private(set) var steps: [Step]

    /// The value itself.
    static let itself = PropertyPath(steps: [])

    init(steps: [Step]) { self.steps = steps }

    /// A property of the document.
    init(key: String) { steps = [Step(key: key)] }

    /// The path that goes on with another one.
    func appending(_ other: PropertyPath) -> PropertyPath {
        PropertyPath(steps: steps + other.steps)
    }

    /// Where the path leads from a value.
    func target(in value: PackedValue) -> Target {
        var value = value
        for step in steps {
            if let key = step.key, value.kind == .object {
                guard let next = value[key] else { return .missing }
                value = next
            } else if let index = step.index, let next = value[index] {
                value = next
            } else {
                return .noPath
            }
        }
        return .value(value)
    }

    /// What the path leads to; nil when there is nothing.
    func value(in value: PackedValue) -> PackedValue? {
        if case .value(let found) = target(in: value) { found } else { nil }
    }
}

// MARK: - Text

extension PropertyPath {
    /// Why a text is no path.
    enum Failure: Error {
        case empty
        case emptyStep
        case brackets

        var reason: String {
            switch self {
            case .empty: "a name is empty"
            case .emptyStep: "a path has a dot with nothing before or behind it"
            case .brackets: "brackets in a path hold the place of an element, as in tags[0]"
            }
        }
    }

    /// Reads a path; a backslash takes a dot, a bracket, a dollar sign or a backslash as it is.
    ///
    /// - Parameters:
    ///   - text: The path.
    ///   - allowsBrackets: Whether `[0]` is a step. In selectors a bracket is a part of a name.
    /// - Throws: ``Failure``.
    init(_ text: String, allowsBrackets: Bool = true) throws(Failure) {
        guard !text.isEmpty else { throw .empty }
        steps = []
        var name = ""
        // After a bracket no name need follow.
        var isComplete = false
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\\" where rest.first.map { Self.escapable.contains($0) } ?? false:
                if let next = rest.popFirst() { name.unicodeScalars.append(next) }
                isComplete = false
            case ".":
                guard isComplete || !name.isEmpty else { throw .emptyStep }
                if !name.isEmpty { steps.append(Step(key: name)) }
                (name, isComplete) = ("", false)
                guard !rest.isEmpty else { throw .emptyStep }
            case "[" where allowsBrackets:
                if !name.isEmpty { steps.append(Step(key: name)) }
                guard let end = rest.firstIndex(of: "]"), let index = Int(String(rest[..<end])),
                    index >= 0
                else { throw .brackets }
                steps.append(Step(index: index))
                rest = rest[rest.index(after: end)...]
                guard rest.first.map({ $0 == "." || $0 == "[" }) ?? true else { throw .brackets }
                (name, isComplete) = ("", true)
            default:
                name.unicodeScalars.append(scalar)
                isComplete = false
            }
        }
        if !name.isEmpty { steps.append(Step(key: name)) }
    }

    private static let escapable: Set<Unicode.Scalar> = [".", "[", "]", "\\", "$"]
}

extension PropertyPath: CustomStringConvertible {
    /// The text that the path is read from.
    var description: String {
        var text = ""
        for step in steps {
            guard let key = step.key else {
                text += "[\(step.index ?? 0)]"
                continue
            }
            if !text.isEmpty { text += "." }
            for scalar in key.unicodeScalars {
                // A dollar sign has a meaning at the beginning alone.
                if Self.escapable.contains(scalar), scalar != "$" || text.isEmpty { text += "\\" }
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
