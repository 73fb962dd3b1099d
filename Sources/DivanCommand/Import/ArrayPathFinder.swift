// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Follows keys from object to object to the array that holds the records.
///
/// Of a key that occurs twice in one object, the first counts: what streams by cannot be had back.
struct ArrayPathFinder {
    enum Step: Equatable {
        case needsMore
        case found
        case absent(String)
    }

    /// The keys from the outside in, each with its alternatives.
    private let path: [[String]]
    /// How many of them have led into an object; that object's depth is one more.
    private var level = 0
    private var expectsKey = false
    private var isInKey = false
    private var key: [UInt8] = []
    /// Whether the value that comes next is the wanted key's.
    private var isWanted = false

    init(_ path: [[String]]) {
        self.path = path
    }

    var isEmpty: Bool { path.isEmpty }

    /// The wanted array, for messages.
    var name: String { path.isEmpty ? "the array" : "an array \(place(path.count))" }

    /// The first keys of the path, in quotation marks.
    private func place(_ count: Int) -> String {
        let keys = path.prefix(count).map { $0.joined(separator: "|") }
        return "\"\(keys.joined(separator: "/"))\""
    }

    /// What is said of a wanted value of another kind.
    private var isOfWrongKind: Step {
        let kind = level + 1 == path.count ? "an array" : "an object"
        return .absent("what the input has at \(place(level + 1)) is not \(kind).")
    }

    /// Takes one token.
    mutating func advance(
        _ chunk: Span<UInt8>, _ index: inout Int, _ scanner: inout StructureScanner
    ) -> Step {
        let start = index
        let token = scanner.next(in: chunk, from: &index)
        if isInKey {
            takeKey(chunk.extracting(start..<(token == nil ? index : index - 1)), end: token)
            return .needsMore
        }
        let isHere = scanner.depth == level + 1
        switch token {
        case .open(let bracket):
            return open(bracket, depth: scanner.depth)
        case .close:
            return scanner.depth <= level ? .absent("the input has not \(name).") : .needsMore
        case .stringStart where isHere && expectsKey:
            isInKey = true
            key = []
        case .stringStart where isHere && isWanted, .comma where isHere && isWanted:
            return isOfWrongKind
        case .comma where isHere:
            expectsKey = true
        default:
            break
        }
        return .needsMore
    }

    private mutating func takeKey(_ bytes: Span<UInt8>, end: StructureScanner.Token?) {
        for i in bytes.indices { key.append(bytes[i]) }
        guard let end else { return }
        isInKey = false
        expectsKey = false
        let text = [JSONByte.quote] + key + [JSONByte.quote]
        let name = end == .stringEnd ? (try? JSONParser.parse(text.span))?.string : nil
        isWanted = name.map { path[level].contains($0) } ?? false
    }

    private mutating func open(_ bracket: UInt8, depth: Int) -> Step {
        if depth == 1, path.isEmpty { return .found }
        if depth == 1 {
            expectsKey = true
            return .needsMore
        }
        guard isWanted, depth == level + 2 else { return .needsMore }
        let isLast = level + 1 == path.count
        switch (isLast, bracket) {
        case (true, JSONByte.openBracket):
            return .found
        case (false, JSONByte.openBrace):
            level += 1
            isWanted = false
            expectsKey = true
            return .needsMore
        default:
            return isOfWrongKind
        }
    }
}
