// SPDX-License-Identifier: Apache-2.0

extension PackedValue {
    /// What is wrong with packed bytes, and where.
    public struct Corruption: Error, Equatable, CustomStringConvertible {
        /// The offset of the value that is wrong, from the start of the bytes.
        public var offset: Int
        /// What is wrong there, as a sentence.
        public var message: String

        /// Describes a corruption.
        public init(offset: Int, message: String) {
            self.offset = offset
            self.message = message
        }

        /// One line with both.
        public var description: String { "At byte \(offset) of a packed value: \(message)" }
    }

    /// Checks every byte of the value.
    ///
    /// - Throws: ``Corruption`` for the first thing that no packer writes: an unknown version or
    ///   tag, a length that does not fit, keys out of order, text that is no UTF-8, a number out of
    ///   its bounds, a wrong offset table, nesting beyond ``JSONValue/maximumDepth``, or bytes
    ///   after the value.
    public func validate() throws(Corruption) {
        // SAFETY: the reader lives inside the closure.
        try unsafe storage.withUnsafeBufferPointer { buffer throws(Corruption) in
            let reader = unsafe PackedReader(buffer)
            guard let version = reader.count > 0 ? reader.byte(at: 0) : nil else {
                throw Corruption(offset: 0, message: "There are no bytes.")
            }
            guard version == PackedTag.version else {
                throw Corruption(offset: 0, message: "The version is unknown.")
            }
            let end = try reader.validate(at: offset, limit: reader.count, depth: 0)
            if offset == 1, end != reader.count {
                throw Corruption(offset: end, message: "More bytes follow the value.")
            }
        }
    }

    /// Stops the program where the value is not as every packer writes it; for tests.
    ///
    /// - Throws: ``Corruption``, where an invariant does not hold that `validate()` tests.
    package func checkInvariants() throws(Corruption) {
        try validate()
        let value = jsonValue()
        let again = PackedValue(value)
        precondition(again.bytes == bytes, "invariant 2")
        let text = JSONWriter.string(value)
        precondition(JSONWriter.string(again.jsonValue()) == text, "invariant 3")
        precondition((try? PackedValue(parsing: text))?.bytes == bytes, "invariants 2 and 3")
    }
}

extension PackedReader {
    /// Checks the value at an offset.
    ///
    /// - Returns: Where it ends.
    func validate(at offset: Int, limit: Int, depth: Int) throws(PackedValue.Corruption) -> Int {
        guard let node = node(at: offset, limit: limit) else {
            throw .init(offset: offset, message: "No value fits here.")
        }
        if node.isObject || node.isArray {
            guard depth < JSONValue.maximumDepth else {
                throw .init(offset: offset, message: "Values nest too deep.")
            }
            try validateEntries(of: node, at: offset, depth: depth)
        } else if node.isString {
            guard unsafe String(validating: payload(node), as: UTF8.self) != nil else {
                throw .init(offset: offset, message: "The text is not valid UTF-8.")
            }
        } else if !isSoundNumber(node) {
            throw .init(offset: offset, message: "The number is out of its bounds.")
        }
        return node.end
    }

    private func validateEntries(
        of node: PackedNode, at offset: Int, depth: Int
    ) throws(PackedValue.Corruption) {
        var position = node.start
        var last: PackedNode?
        for index in 0..<node.count {
            if index % PackedTag.stride == 0,
                blockStart(index / PackedTag.stride, of: node) != position
            {
                throw .init(offset: offset, message: "The offset table is wrong.")
            }
            if node.isObject {
                guard let key = self.node(at: position, limit: node.end), key.isString else {
                    throw .init(offset: position, message: "A key is missing.")
                }
                if let last, unsafe compare(payload(last), payload(key)) >= 0 {
                    throw .init(offset: position, message: "Keys are out of order.")
                }
                last = key
                position = try validate(at: position, limit: node.end, depth: depth + 1)
            }
            position = try validate(at: position, limit: node.end, depth: depth + 1)
        }
        guard position == node.end else {
            throw .init(offset: position, message: "More bytes follow the last entry.")
        }
    }

    private func isSoundNumber(_ node: PackedNode) -> Bool {
        switch node.tag {
        case 0xA0..<0xA6: decimal(node) != nil
        case PackedTag.double: exactDouble(node)?.isFinite ?? false
        case PackedTag.number8, PackedTag.number32: bigNumber(node) != nil
        case 0x9F: int64(node) != nil
        default: true
        }
    }
}
