// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

/// How much the paths of a selector's conditions take together, each of which is held whole: behind one long name, each of
/// many short ones has a long path.
package enum SelectorSize {
    /// The most bytes.
    private static let most = 64 << 20
    /// What a name takes besides its text.
    private static let nameBytes = 48

    /// Whether they take more than is borne.
    ///
    /// - Parameter json: A selector that nests no deeper than one may.
    /// - Returns: Whether it must be refused.
    package static func isTooLarge(_ json: JSONValue) -> Bool {
        var total = 0
        add(json, 0, &total)
        return total > most
    }

    private static func add(_ json: JSONValue, _ path: Int, _ total: inout Int) {
        guard total <= most else { return }
        switch json {
        case .object(let object):
            for (key, value) in object {
                let isOperator = key.utf8.first == UInt8(ascii: "$")
                let inner = isOperator ? path : path.addingSaturated(bytes(of: key))
                total = total.addingSaturated(inner)
                add(value, inner, &total)
            }
        case .array(let items): for item in items { add(item, path, &total) }
        default: break
        }
    }

    private static func bytes(of key: String) -> Int {
        let names = 1 + key.utf8.count(where: { $0 == UInt8(ascii: ".") })
        return names.multipliedSaturated(by: nameBytes).addingSaturated(key.utf8.count)
    }
}
