// SPDX-License-Identifier: Apache-2.0

/// The way to a value in lent packed bytes, for scans over many documents.
///
/// A step leads from an object by a name, or from an array by a place.
package struct PackedPath: Sendable {
    private struct Step {
        var name: [UInt8]?
        var index: Int?
    }

    private let steps: [Step]

    /// Makes a path.
    ///
    /// - Parameter steps: For each step the name of a property, and the place of an element, where it has
    ///   one.
    package init(_ steps: [(name: String?, index: Int?)]) {
        self.steps = steps.map { Step(name: $0.name.map { Array($0.utf8) }, index: $0.index) }
    }

    /// The integer that the path leads to in lent packed bytes; nil for anything else.
    package func int64(in packed: Span<UInt8>) -> Int64? {
        // SAFETY: the reader lives inside the closure.
        unsafe packed.withUnsafeBufferPointer { buffer in
            let reader = unsafe PackedReader(buffer)
            guard let root = reader.root, let node = target(from: root, in: reader) else {
                return nil
            }
            return reader.int64(node)
        }
    }

    /// Whether the path leads to a value other than null in lent packed bytes.
    package func hasValue(in packed: Span<UInt8>) -> Bool {
        // SAFETY: the reader lives inside the closure.
        unsafe packed.withUnsafeBufferPointer { buffer in
            let reader = unsafe PackedReader(buffer)
            guard let root = reader.root, let node = target(from: root, in: reader) else {
                return false
            }
            return reader.collationType(of: node) != .null
        }
    }

    /// Whether the path leads to a text with certain bytes in lent packed bytes.
    package func isText(_ text: [UInt8], in packed: Span<UInt8>) -> Bool {
        // SAFETY: reader and text live inside the closures.
        unsafe packed.withUnsafeBufferPointer { buffer in
            let reader = unsafe PackedReader(buffer)
            guard let root = reader.root, let node = target(from: root, in: reader) else {
                return false
            }
            return unsafe text.withUnsafeBufferPointer { unsafe reader.isEqual(node, $0) }
        }
    }

    /// Where the path leads from a node; nil when there is nothing.
    func target(from root: PackedNode, in reader: PackedReader) -> PackedNode? {
        var node = root
        for step in steps {
            let next: PackedNode?
            if node.isObject {
                // SAFETY: the name is lent for the call.
                next =
                    unsafe step.name?.withUnsafeBufferPointer {
                        unsafe reader.property($0, of: node)
                    } ?? nil
            } else if node.isArray {
                next = step.index.flatMap { reader.element($0, of: node) }
            } else {
                next = nil
            }
            guard let next else { return nil }
            node = next
        }
        return node
    }
}
