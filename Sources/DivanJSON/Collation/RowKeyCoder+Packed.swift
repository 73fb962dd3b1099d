// SPDX-License-Identifier: Apache-2.0

extension RowKeyCoder {
    /// Appends the encoding of a packed value without unpacking it.
    ///
    /// Equal to appending `value.jsonValue()`; texts go from the packed bytes straight to the key.
    /// Corrupt elements are left out with all that follow them.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Grows by the encoding.
    public func append(_ value: PackedValue, to key: inout [UInt8]) {
        var forms = NumberForms.ignored
        append(value, to: &key, &forms)
    }

    /// Appends the encoding of a packed value, and what it does not tell of its numbers.
    package func append(
        _ value: PackedValue, to key: inout [UInt8], _ forms: inout NumberForms
    ) {
        value.withReader { reader, node in
            guard let node else {
                key.append(tag(of: .null))
                return
            }
            append(node, of: reader, depth: JSONValue.maximumDepth, to: &key, &forms)
        }
    }

    /// Appends the encoding of the value that a path leads to in lent packed bytes.
    ///
    /// Equal to looking it up and appending it, but nothing is copied on the way.
    ///
    /// - Returns: Whether there is a value; if not, nothing was appended.
    package func append(
        _ path: PackedPath, of packed: Span<UInt8>, to key: inout [UInt8]
    ) -> Bool {
        path.withTarget(in: packed) { reader, node in
            var forms = NumberForms.ignored
            append(node, of: reader, depth: JSONValue.maximumDepth, to: &key, &forms)
            return true
        } ?? false
    }

    private func append(
        _ node: PackedNode, of reader: PackedReader, depth: Int, to key: inout [UInt8],
        _ forms: inout NumberForms
    ) {
        let type = reader.collationType(of: node)
        // Nothing packed nests deeper; bytes that pretend to are not followed.
        guard depth > 0 || (type != .array && type != .object) else {
            key.append(tag(of: .null))
            return
        }
        key.append(tag(of: type))
        switch type {
        case .null, .false, .true: break
        case .number: appendNumber(node, of: reader, to: &key, &forms)
        case .string:
            // SAFETY: the payload is lent for the call, inside the reader's closure.
            unsafe appendText(reader.payload(node).span, to: &key)
        case .array:
            reader.forEachElement(of: node) { item in
                append(item, of: reader, depth: depth - 1, to: &key, &forms)
            }
            key.append(RowKeyCoder.end)
        case .object:
            reader.forEachProperty(of: node) { name, value in
                append(name, of: reader, depth: depth, to: &key, &forms)
                append(value, of: reader, depth: depth - 1, to: &key, &forms)
            }
            key.append(RowKeyCoder.end)
        }
    }

    private func appendNumber(
        _ node: PackedNode, of reader: PackedReader, to key: inout [UInt8],
        _ forms: inout NumberForms
    ) {
        if let integer = reader.int64(node) {
            appendInteger(integer, to: &key, &forms)
        } else {
            append(ExactNumber(node, of: reader), to: &key, &forms)
        }
    }
}

extension ExactNumber {
    /// Takes a packed number apart. Anything but a number counts as zero.
    init(_ node: PackedNode, of reader: PackedReader) {
        if let value = reader.int64(node) {
            self.init(value)
        } else if let value = reader.exactDouble(node) {
            self.init(value)
        } else if let value = reader.unsigned(node) {
            self.init(magnitude: value, isNegative: false)
        } else if let value = reader.bigNumber(node) {
            self.init(value)
        } else {
            self.init(0 as Int64)
        }
    }
}
