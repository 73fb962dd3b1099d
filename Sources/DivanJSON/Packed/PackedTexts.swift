// SPDX-License-Identifier: Apache-2.0

/// Finds texts in lent packed bytes, at paths that go through arrays: an array stands for all of its elements.
package struct PackedTexts: Sendable {
    private let paths: [[[UInt8]]]

    /// - Parameter paths: The names of each path's properties; a path without names leads nowhere.
    package init(_ paths: [[String]]) {
        self.paths = paths.map { $0.map { Array($0.utf8) } }
    }

    /// Lends the texts in the order of the paths.
    package func forEach(in packed: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
        // SAFETY: the reader lives inside the closure.
        unsafe packed.withUnsafeBufferPointer { buffer in
            let reader = unsafe PackedReader(buffer)
            guard let root = reader.root, root.isObject else { return }
            for path in paths where !path.isEmpty {
                Self.find(path[...], root, reader, depth: JSONValue.maximumDepth, body)
            }
        }
    }

    private static func find(
        _ path: ArraySlice<[UInt8]>, _ node: PackedNode, _ reader: PackedReader, depth: Int,
        _ body: (Span<UInt8>) -> Void
    ) {
        // Nothing packed nests deeper; bytes that pretend to are not followed.
        guard depth > 0 else { return }
        if node.isArray {
            reader.forEachElement(of: node) { find(path, $0, reader, depth: depth - 1, body) }
        } else if node.isString {
            // SAFETY: the payload is lent for the call, inside the reader's closure.
            if path.isEmpty { unsafe body(reader.payload(node).span) }
        } else if node.isObject, let name = path.first {
            // SAFETY: the name is lent for the call.
            let member = unsafe name.withUnsafeBufferPointer {
                unsafe reader.property($0, of: node)
            }
            guard let member else { return }
            find(path.dropFirst(), member, reader, depth: depth - 1, body)
        }
    }
}
