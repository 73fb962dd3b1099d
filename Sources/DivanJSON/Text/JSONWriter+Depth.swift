// SPDX-License-Identifier: Apache-2.0

extension ByteSink {
    /// An array or an object of which a part has been written.
    private struct OpenContainer {
        private let keys: [String]?
        private let values: [JSONValue]
        /// The places of the values, in the order in which they are written.
        private let order: [Int]
        private var written = 0

        /// Opens a value; nil for one that contains no others.
        init?(_ value: JSONValue, _ form: TextForm) {
            switch value {
            case .array(let elements): (keys, values) = (nil, elements)
            case .object(let properties): (keys, values) = (properties.keys, properties.values)
            default: return nil
            }
            let sorted = form == .canonical ? value.object?.sortedIndices : nil
            order = sorted ?? Array(values.indices)
        }

        var opening: UInt8 { keys == nil ? 0x5B : 0x7B }
        var closing: UInt8 { keys == nil ? 0x5D : 0x7D }
        var isEmpty: Bool { values.isEmpty }

        /// The next value, its key in an object, and whether it is the first one; nil at the end.
        mutating func next() -> (key: String?, value: JSONValue, isFirst: Bool)? {
            guard written < order.count else { return nil }
            defer { written += 1 }
            let place = order[written]
            return (keys?[place], values[place], written == 0)
        }
    }

    /// Appends an array or an object that stands deeper than values are parsed or packed.
    ///
    /// It keeps a list of what is open in place of calling itself, so that no depth exhausts the stack.
    mutating func appendDeep(_ value: JSONValue, form: TextForm, level: Int) {
        guard let first = OpenContainer(value, form) else { return }
        append(first.opening)
        var open = [first]
        while let last = open.indices.last {
            guard let (key, value, isFirst) = open[last].next() else {
                let done = open.removeLast()
                close(done.closing, isEmpty: done.isEmpty, form: form, level: level + last)
                continue
            }
            separate(first: isFirst, form: form, level: level + last + 1)
            if let key {
                append(string: key, style: form.strings)
                append(form == .pretty ? ": " : ":")
            }
            if let inner = OpenContainer(value, form) {
                append(inner.opening)
                open.append(inner)
            } else {
                append(value, form: form, level: level + last + 1)
            }
        }
    }
}
