// SPDX-License-Identifier: Apache-2.0

extension ValueOrder {
    /// Compares two packed values exactly, without unpacking them.
    ///
    /// The answer is that of ``compare(_:_:)-(JSONValue,_)`` for the unpacked values. Packed objects lie in the
    /// order that they are compared in, so nothing is sorted or allocated.
    ///
    /// - Parameters:
    ///   - left: A value.
    ///   - right: Another value.
    /// - Returns: A negative number if `left` sorts first, zero if the values are identical, else a
    ///   positive number.
    public func compare(_ left: PackedValue, _ right: PackedValue) -> Int {
        let byValue = compare(left, right, numberTies: false)
        return byValue != 0 ? byValue : compare(left, right, numberTies: true)
    }

    /// Compares two packed values as a query does: numbers are equal however they are written.
    ///
    /// - Parameters:
    ///   - left: A value.
    ///   - right: Another value.
    /// - Returns: A negative number if `left` sorts first, zero if a query for one finds the other,
    ///   else a positive number.
    public func collate(_ left: PackedValue, _ right: PackedValue) -> Int {
        compare(left, right, numberTies: false)
    }

    private func compare(_ left: PackedValue, _ right: PackedValue, numberTies: Bool) -> Int {
        left.withReader { leftReader, leftNode in
            right.withReader { rightReader, rightNode in
                guard let leftNode, let rightNode else {
                    return compare(left.jsonValue(), right.jsonValue(), numberTies: numberTies)
                }
                return compare(
                    (leftReader, leftNode), (rightReader, rightNode), numberTies,
                    JSONValue.maximumDepth)
            }
        }
    }

    /// A value within packed bytes.
    private typealias Place = (reader: PackedReader, node: PackedNode)

    private func compare(
        _ left: Place, _ right: Place, _ numberTies: Bool, _ depth: Int
    ) -> Int {
        let leftType = left.reader.collationType(of: left.node)
        let rightType = right.reader.collationType(of: right.node)
        guard leftType == rightType else {
            return Int(collation.rank(of: leftType)) - Int(collation.rank(of: rightType))
        }
        switch leftType {
        case .null, .false, .true: return 0
        case .number:
            return ExactNumber(left.node, of: left.reader)
                .compare(ExactNumber(right.node, of: right.reader), breakingTies: numberTies)
        case .string:
            // SAFETY: both payloads are lent for the call, inside their readers' closures.
            return unsafe compare(
                left.reader.payload(left.node).span, right.reader.payload(right.node).span)
        case .array: return compareEntries(left, right, valuesEach: 1, numberTies, depth - 1)
        case .object: return compareEntries(left, right, valuesEach: 2, numberTies, depth - 1)
        }
    }

    /// Compares containers value by value; an entry of an object is a key and its value.
    private func compareEntries(
        _ left: Place, _ right: Place, valuesEach: Int, _ numberTies: Bool, _ depth: Int
    ) -> Int {
        // Nothing packed nests deeper; bytes that pretend to are not followed.
        guard depth >= 0 else { return 0 }
        var (leftNext, rightNext) = (left.node.start, right.node.start)
        for _ in 0..<min(left.node.count, right.node.count) * valuesEach {
            guard let leftNode = left.reader.node(at: leftNext, limit: left.node.end),
                let rightNode = right.reader.node(at: rightNext, limit: right.node.end)
            else { break }
            let byValue = compare(
                (left.reader, leftNode), (right.reader, rightNode), numberTies, depth)
            if byValue != 0 { return byValue }
            (leftNext, rightNext) = (leftNode.end, rightNode.end)
        }
        return left.node.count - right.node.count
    }
}
