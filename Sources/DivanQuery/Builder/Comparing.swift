// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

/// Two values that an expression compares.
struct Comparing {
    private var left: JSONValue?
    private var right: JSONValue?
    private let collation: Collation

    init(_ left: ExpressionNode, _ right: ExpressionNode, _ scope: ExpressionScope) throws {
        try self.init(try left.value(in: scope), of: left, right, scope)
    }

    /// Compares a value that has been computed.
    ///
    /// - Parameters:
    ///   - value: The value on the left.
    ///   - left: The expression that it is the value of.
    ///   - right: The expression on the right.
    ///   - scope: What the expressions are computed in.
    /// - Throws: As ``ExpressionNode/value(in:)``.
    init(
        _ value: JSONValue?, of left: ExpressionNode, _ right: ExpressionNode,
        _ scope: ExpressionScope
    ) throws {
        self.left = value
        self.right = try right.value(in: scope)
        collation = left.collation ?? right.collation ?? .raw
        if left.isExpiration {
            self.right = self.right.map { Self.milliseconds($0, isConstant: right.isOfNoDocument) }
        }
        if right.isExpiration {
            self.left = self.left.map { Self.milliseconds($0, isConstant: left.isOfNoDocument) }
        }
    }

    /// Milliseconds since 1970, from a date as text, from milliseconds, or from seconds.
    ///
    /// - Parameters:
    ///   - value: What is compared with the time of expiration.
    ///   - isConstant: Whether a small number is seconds; what a document holds is taken as it is.
    /// - Returns: The milliseconds; anything but a date or a number as it is.
    static func milliseconds(_ value: JSONValue, isConstant: Bool) -> JSONValue {
        if let time = value.millisecondsSince1970 { return .integer(time) }
        if isConstant, let number = value.double, number < 1e11 { return .double(number * 1_000) }
        return value
    }

    /// Whether a comparison holds; nil when one of the values is missing or null, which only `.identical` knows.
    func holds(_ comparison: ExpressionNode.Comparison) -> Bool? {
        if comparison == .identical { return isIdentical }
        guard let left, let right, !left.isNull, !right.isNull else { return nil }
        let order = ValueOrder(collation, strings: ICUCollator.root)
        switch comparison {
        case .equal: return order.collatesAsEqual(left, right)
        case .notEqual: return !order.collatesAsEqual(left, right)
        default: break
        }
        guard left.typeName.hasSameBytes(as: right.typeName) else { return nil }
        let place = order.collate(left, right)
        return switch comparison {
        case .less: place < 0
        case .lessOrEqual: place <= 0
        case .greater: place > 0
        case .greaterOrEqual: place >= 0
        case .equal, .notEqual, .identical: place == 0
        }
    }

    /// Whether both are missing, both null, or both equal.
    private var isIdentical: Bool {
        guard let left, let right else { return left == nil && right == nil }
        return ValueOrder(collation, strings: ICUCollator.root).collatesAsEqual(left, right)
    }
}

extension JSONValue {
    /// The name of the type.
    var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .integer, .unsigned, .double, .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}

/// A pattern with wildcards, read once.
struct LikeForm {
    private enum Part: Equatable {
        case character(Character)
        case one
        case many
    }

    private var parts: [Part] = []

    init(_ form: String) {
        var isEscaped = false
        for character in form {
            if isEscaped {
                parts.append(.character(character))
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "%" {
                if parts.last != .many { parts.append(.many) }
            } else {
                parts.append(character == "_" ? .one : .character(character))
            }
        }
    }

    /// What every text that matches begins with.
    var prefix: String {
        var prefix = ""
        for case .character(let character) in parts.prefix(while: { $0 != .one && $0 != .many }) {
            prefix.append(character)
        }
        return prefix
    }

    /// Whether a text matches. Takes time in proportion to the lengths of both, at most.
    func matches(_ text: String) -> Bool {
        let text = Array(text)
        var (position, part) = (0, 0)
        // Where to go on when the part after the last wildcard does not match: with one more
        // character in the wildcard.
        var retry: (position: Int, part: Int)?
        while position < text.count {
            if part < parts.count, parts[part] == .many {
                retry = (position, part)
                part += 1
            } else if part < parts.count, accepts(parts[part], text[position]) {
                (position, part) = (position + 1, part + 1)
            } else if let last = retry {
                retry = (last.position + 1, last.part)
                (position, part) = (last.position + 1, last.part + 1)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { $0 == .many }
    }

    private func accepts(_ part: Part, _ character: Character) -> Bool {
        // Exactly: canonically equal characters are equal to Swift.
        if case .character(let wanted) = part {
            return wanted.unicodeScalars.elementsEqual(character.unicodeScalars)
        }
        return true
    }
}
