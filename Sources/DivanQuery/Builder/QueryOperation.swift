// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// An operator of a query's JSON form with its arguments: see ``SelectQuery/init(json:from:)``.
struct QueryOperation {
    /// The operator, in capitals.
    let name: String
    let arguments: [JSONValue]
    /// Reads an argument that is an expression.
    let expression: (JSONValue) throws -> ExpressionNode

    private static let comparisons: NameMap<ExpressionNode.Comparison> = [
        "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less,
        "<=": .lessOrEqual, ">": .greater, ">=": .greaterOrEqual,
    ]
    private static let arithmetic: NameMap<ExpressionNode.Arithmetic> = [
        "+": .add, "-": .subtract, "*": .multiply, "/": .divide, "%": .modulo,
    ]
    private static let quantifiers: NameMap<ExpressionNode.Quantifier> = [
        "ANY": .any, "EVERY": .every, "ANY AND EVERY": .anyAndEvery,
    ]
    private static let aggregates: NameMap<ExpressionNode.Aggregate> = [
        "COUNT()": .count, "SUM()": .sum, "AVG()": .average, "MIN()": .minimum, "MAX()": .maximum,
    ]

    func node() throws -> ExpressionNode {
        if let comparison = Self.comparisons[name] {
            return .compare(comparison, try argument(0, of: 2), try argument(1, of: 2))
        }
        if let operation = Self.arithmetic[name] {
            if operation == .subtract, arguments.count == 1 {
                return .arithmetic(.subtract, .literal(0), try argument(0, of: 1))
            }
            return .arithmetic(operation, try argument(0, of: 2), try argument(1, of: 2))
        }
        if let quantifier = Self.quantifiers[name] {
            guard let variable = arguments.first?.string else {
                throw QueryJSON.failure("has an \(name) without the name of a variable")
            }
            // Aggregates are such variables.
            guard variable.utf8.first != 0 else {
                throw QueryJSON.failure("has an \(name) with a variable whose name begins with NUL")
            }
            return .quantified(quantifier, variable, try argument(1, of: 3), try argument(2, of: 3))
        }
        if let aggregate = Self.aggregates[name] {
            guard aggregate != .count || !arguments.isEmpty else { return .aggregate(.count, nil) }
            return .aggregate(aggregate, try argument(0, of: 1))
        }
        return try condition() ?? function()
    }

    private func condition() throws -> ExpressionNode? {
        switch name {
        case "AND": return .all(try arguments.map(expression))
        case "OR": return .any(try arguments.map(expression))
        case "NOT": return .not(try argument(0, of: 1))
        case "BETWEEN":
            return .between(try argument(0, of: 3), try argument(1, of: 3), try argument(2, of: 3))
        case "IN", "NOT IN":
            let found = ExpressionNode.oneOf(try argument(0, of: 2), try list(arguments.last))
            return name == "IN" ? found : .not(found)
        case "LIKE": return .like(try argument(0, of: 2), try argument(1, of: 2))
        case "IS", "IS NOT":
            let isSo = try identity()
            return name == "IS" ? isSo : .not(isSo)
        case "IS VALUED": return .test(.valued, try argument(0, of: 1))
        case "EXISTS": return .not(.test(.missing, try argument(0, of: 1)))
        case "COLLATE": return try collated()
        default: return nil
        }
    }

    /// `IS` knows null and what is missing, which `=` does not: it is never unknown, and `IS NOT` is all that it is not.
    private func identity() throws -> ExpressionNode {
        let value = try argument(0, of: 2)
        let other = arguments[1]
        if other.isNull { return .test(.null, value) }
        if let name = other.array?.first?.string?.uppercased(), name == "MISSING" {
            return .test(.missing, value)
        }
        return .compare(.identical, value, try expression(other))
    }

    private func list(_ json: JSONValue?) throws -> [ExpressionNode] {
        guard let items = json?.array, items.first == "[]" else {
            throw QueryJSON.failure("has an IN without a list, which begins with \"[]\"")
        }
        return try items.dropFirst().map(expression)
    }

    private func collated() throws -> ExpressionNode {
        guard arguments.count == 2, case .object(let options) = arguments[0] else {
            throw QueryJSON.failure("has a COLLATE without options")
        }
        let collation = try Self.collation(options)
        return .collated(try expression(arguments[1]), collation)
    }

    /// The collation of options, of which Divan has two: by Unicode and by bytes. Both tell capitals from small letters and
    /// accents from none, and neither knows locales.
    private static func collation(_ options: JSONObject) throws -> Collation {
        var isUnicode = false
        for (name, value) in options {
            switch (name.uppercased(), value) {
            case ("UNICODE", .bool(let flag)): isUnicode = flag
            case ("CASE", .bool(true)), ("DIAC", .bool(true)), ("LOCALE", .null): break
            case ("CASE", .bool(false)), ("DIAC", .bool(false)):
                throw QueryJSON.failure(
                    "has a COLLATE that takes letters for others, which no collation does;"
                        + " compare the texts in small letters")
            case ("LOCALE", .string):
                throw QueryJSON.failure("has a COLLATE by a locale, which no collation knows")
            default:
                throw QueryJSON.failure("has a COLLATE with an option '\(name)' that is not known")
            }
        }
        return isUnicode ? .unicode : .raw
    }

    /// Texts one behind the other. It nests by halves, since there may be very many.
    private func concatenation(_ texts: ArraySlice<JSONValue>) throws -> ExpressionNode {
        guard texts.count > 1 else { return try expression(texts[texts.startIndex]) }
        let middle = texts.startIndex + texts.count / 2
        return .function(
            .concat,
            [try concatenation(texts[..<middle]), try concatenation(texts[middle...])])
    }

    private func function() throws -> ExpressionNode {
        if name == "||" || name == "CONCAT()" {
            guard !arguments.isEmpty else { throw Self.wrongCount(name) }
            return try concatenation(arguments[...])
        }
        if name.hasSameBytes(as: "REGEXP_LIKE()") {
            return .matches(try argument(0, of: 2), try argument(1, of: 2))
        }
        guard
            let function = name.beforeByteSuffix("()").flatMap({
                ExpressionFunction(rawValue: $0.lowercased())
            })
        else {
            throw QueryJSON.failure("has an operator '\(name)' that is not known")
        }
        guard function.argumentCounts.contains(arguments.count) else {
            throw Self.wrongCount(name)
        }
        return .function(function, try arguments.map(expression))
    }

    private func argument(_ index: Int, of count: Int) throws -> ExpressionNode {
        guard arguments.count == count else { throw Self.wrongCount(name) }
        return try expression(arguments[index])
    }

    private static func wrongCount(_ name: String) -> DatabaseError {
        QueryJSON.failure("has an operator '\(name)' with too few or too many arguments")
    }
}

extension ExpressionFunction {
    /// How many arguments it may have.
    fileprivate var argumentCounts: ClosedRange<Int> {
        switch self {
        case .e, .pi: 0...0
        case .round, .trunc: 1...2
        case .contains, .concat, .arrayContains, .atan2, .power: 2...2
        default: 1...1
        }
    }
}
