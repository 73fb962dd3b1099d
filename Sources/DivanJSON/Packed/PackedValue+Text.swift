// SPDX-License-Identifier: Apache-2.0

extension PackedValue {
    /// Appends the value's JSON text, with the keys of objects in sorted order.
    public func appendJSON(to bytes: inout [UInt8], pretty: Bool = false) {
        var sink = ByteSink(capacity: storage.count * 3 / 2 + 64)
        append(to: &sink, form: pretty ? .pretty : .compact)
        sink.move(to: &bytes)
    }

    /// The value's JSON text, with the keys of objects in sorted order.
    public var jsonText: String {
        var bytes: [UInt8] = []
        appendJSON(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func append(to sink: inout ByteSink, form: TextForm) {
        // SAFETY: the reader lives inside the closure.
        unsafe storage.withUnsafeBufferPointer { buffer in
            let reader = unsafe PackedReader(buffer)
            let node = offset == 1 ? reader.root : reader.node(at: offset, limit: reader.count)
            guard let node else {
                sink.append("null")
                return
            }
            sink.append(node, of: reader, form: form, level: 0)
        }
    }
}

extension ByteSink {
    /// Appends a packed value; what is corrupt, or nested deeper than anything packed, is null.
    mutating func append(_ node: PackedNode, of reader: PackedReader, form: TextForm, level: Int) {
        switch node.tag {
        case _ where node.isString: append(string: node, of: reader, style: form.strings)
        case 0xC0..<0xE0 where level < JSONValue.maximumDepth:
            append(0x7B)
            var isFirst = true
            reader.forEachProperty(of: node) { key, value in
                separate(first: isFirst, form: form, level: level + 1)
                isFirst = false
                append(string: key, of: reader, style: form.strings)
                append(form == .pretty ? ": " : ":")
                append(value, of: reader, form: form, level: level + 1)
            }
            close(0x7D, isEmpty: isFirst, form: form, level: level)
        case 0xE0... where level < JSONValue.maximumDepth:
            append(0x5B)
            var isFirst = true
            reader.forEachElement(of: node) { element in
                separate(first: isFirst, form: form, level: level + 1)
                isFirst = false
                append(element, of: reader, form: form, level: level + 1)
            }
            close(0x5D, isEmpty: isFirst, form: form, level: level)
        default: append(scalar: node, of: reader, form: form)
        }
    }

    /// Appends a packed string.
    @inline(__always)
    mutating func append(string node: PackedNode, of reader: PackedReader, style: StringStyle) {
        unsafe append(
            string: reader.payload(node), readable: reader.count - node.start, style: style)
    }

    private mutating func append(scalar node: PackedNode, of reader: PackedReader, form: TextForm) {
        if let value = reader.int64(node) {
            append(number: value)
        } else if node.tag == PackedTag.true {
            append("true")
        } else if node.tag == PackedTag.false {
            append("false")
        } else if let value = reader.decimal(node) {
            append(value, style: form.doubles)
        } else if let value = reader.exactDouble(node) {
            append(value, style: form.doubles)
        } else if let value = reader.unsigned(node) {
            append(number: value)
        } else if let value = reader.bigNumber(node) {
            append(value.text.utf8)
        } else {
            append("null")
        }
    }
}
