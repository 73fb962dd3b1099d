// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

extension ExpressionNode.Arithmetic {
    /// The result; null when there is none.
    func apply(_ left: JSONValue, _ right: JSONValue) -> JSONValue {
        if let left = left.int64, let right = right.int64, let result = integer(left, right) {
            return .integer(result)
        }
        if let left = left.integer128, let right = right.integer128,
            let result = integer(left, right), let result = Int64(exactly: result)
        {
            return .integer(result)
        }
        guard let left = left.double, let right = right.double else { return .null }
        let result =
            switch self {
            case .add: left + right
            case .subtract: left - right
            case .multiply: left * right
            case .divide: left / right
            case .modulo: left.truncatingRemainder(dividingBy: right)
            }
        return result.isFinite ? .double(result) : .null
    }

    /// The result as an integer; nil where it is none, or none of that width.
    private func integer<Integer: FixedWidthInteger>(_ left: Integer, _ right: Integer) -> Integer?
    {
        let result: (partialValue: Integer, overflow: Bool)
        switch self {
        case .add: result = left.addingReportingOverflow(right)
        case .subtract: result = left.subtractingReportingOverflow(right)
        case .multiply: result = left.multipliedReportingOverflow(by: right)
        case .modulo: result = left.remainderReportingOverflow(dividingBy: right)
        case .divide: return nil
        }
        return result.overflow ? nil : result.partialValue
    }
}

extension ExpressionFunction {
    /// The result; null when the arguments are of a wrong type.
    func apply(_ arguments: [JSONValue]) -> JSONValue {
        guard let first = arguments.first else { return constant }
        switch self {
        case .lower, .upper, .length, .trim, .ltrim, .rtrim, .stringToMillis, .stringToUTC:
            return first.string.map { text($0) } ?? .null
        case .contains, .concat:
            guard let text = first.string, let other = arguments.last?.string else { return .null }
            if self == .concat { return .string(text + other) }
            return .bool(Self.contains(Array(text.utf8), Array(other.utf8)))
        case .arrayContains:
            guard let array = first.array, let value = arguments.last else { return .null }
            let order = ValueOrder(.raw, strings: ICUCollator.root)
            return .bool(array.contains { order.collatesAsEqual($0, value) })
        case .arrayLength: return first.array.map { .integer(Int64($0.count)) } ?? .null
        case .millisToString, .millisToUTC:
            guard let time = first.double, time.magnitude < 1e15 else { return .null }
            return .date(millisecondsSince1970: Int64(time))
        case .type: return .string(first.typeName)
        default: return number(arguments)
        }
    }

    private func text(_ text: String) -> JSONValue {
        switch self {
        case .lower: return .string(text.lowercased())
        case .upper: return .string(text.uppercased())
        case .length: return .integer(Int64(text.count))
        case .stringToMillis:
            return JSONValue.string(text).millisecondsSince1970.map { .integer($0) } ?? .null
        case .stringToUTC:
            return JSONValue.string(text).millisecondsSince1970
                .map { .date(millisecondsSince1970: $0) } ?? .null
        default: break
        }
        var part = Substring(text)
        if self != .rtrim { part = part.drop(while: \.isWhitespace) }
        if self != .ltrim {
            while part.last?.isWhitespace ?? false { part.removeLast() }
        }
        return .string(String(part))
    }

    private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        guard part.count <= text.count else { return false }
        return (0...(text.count - part.count)).contains { text[$0...].starts(with: part) }
    }
}

extension JSONValue {
    /// An integer of 64 bits, with a sign or without.
    fileprivate var integer128: Int128? {
        switch self {
        case .integer(let integer): Int128(integer)
        case .unsigned(let integer): Int128(integer)
        default: nil
        }
    }
}
