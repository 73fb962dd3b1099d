// SPDX-License-Identifier: Apache-2.0

/// The way to a value in lent packed bytes, for scans over many documents.
///
/// A step leads from an object by a name, or from an array by a place.
package struct PackedPath: Sendable {
    private struct Step {
        /// Where the name lies in `names`.
        var name: Range<Int>?
        var index: Int?
    }

    private let steps: [Step]
    /// The names one after the other, so that to take a step counts no reference.
    private let names: [UInt8]

    /// Makes a path.
    ///
    /// - Parameter steps: For each step the name of a property, and the place of an element, where it has
    ///   one.
    package init(_ steps: [(name: String?, index: Int?)]) {
        var names: [UInt8] = []
        self.steps = steps.map { step in
            let start = names.count
            names += step.name?.utf8 ?? "".utf8
            return Step(name: step.name.map { _ in start..<names.count }, index: step.index)
        }
        self.names = names
    }

    /// The integer that the path leads to in lent packed bytes; nil for anything else.
    package func int64(in packed: Span<UInt8>) -> Int64? {
        withTarget(in: packed) { reader, node in reader.int64(node) } ?? nil
    }

    /// Whether the path leads to a value other than null in lent packed bytes.
    package func hasValue(in packed: Span<UInt8>) -> Bool {
        withTarget(in: packed) { reader, node in reader.collationType(of: node) != .null } ?? false
    }

    /// Whether the path leads to a text with certain bytes in lent packed bytes.
    package func isText(_ text: [UInt8], in packed: Span<UInt8>) -> Bool {
        withTarget(in: packed) { reader, node in
            // SAFETY: the text lives inside the closure.
            unsafe text.withUnsafeBufferPointer { unsafe reader.isEqual(node, $0) }
        } ?? false
    }

    /// Calls `body` with where the path leads in lent packed bytes; nil when there is nothing.
    @inline(__always)
    func withTarget<T>(
        in packed: Span<UInt8>, _ body: (PackedReader, PackedNode) -> T
    ) -> T? {
        // SAFETY: the reader lives inside the closure.
        unsafe packed.withUnsafeBufferPointer { buffer in
            let reader = unsafe PackedReader(buffer)
            guard let root = reader.root, let node = target(from: root, in: reader) else {
                return nil
            }
            return body(reader, node)
        }
    }

    /// Where the path leads from a node; nil when there is nothing.
    private func target(from root: PackedNode, in reader: PackedReader) -> PackedNode? {
        // SAFETY: the names are lent for the call.
        unsafe names.withUnsafeBufferPointer { unsafe target(from: root, in: reader, $0) }
    }

    private func target(
        from root: PackedNode, in reader: PackedReader, _ names: UnsafeBufferPointer<UInt8>
    ) -> PackedNode? {
        var node = root
        for place in steps.indices {
            let step = steps[place]
            let next: PackedNode?
            if node.isObject {
                // SAFETY: the ranges are those of the names.
                next = step.name.flatMap {
                    unsafe reader.property(UnsafeBufferPointer(rebasing: names[$0]), of: node)
                }
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
