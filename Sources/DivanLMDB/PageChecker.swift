// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Checks the pages of a file of LMDB's, which LMDB itself trusts.
///
/// The file is read, not mapped, and every offset is checked before it is followed, so damage of any kind
/// gives sentences and nothing worse. It must run in a read transaction, which keeps the pages of its
/// snapshot from being used again.
///
/// ## What a page holds (LMDB 0.9, 64 bits, little-endian)
///
///      offset  size  meaning
///           0     8  the page's own number
///          10     2  1 branch, 2 leaf, 4 overflow, 8 meta
///          12     2  where the offsets of the nodes end        an overflow page: how many
///          14     2  where the nodes begin                     pages follow on it, 4 bytes
///          16     …  the offset of each node, 2 bytes
///
///      node    0     2  low half of the value's size           in a branch: of the page's number
///              2     2  high half
///              4     2  1 the value lies on overflow pages, 2 it is a database's record;
///                       in a branch: the highest 16 bits of the page's number
///              6     2  the size of the key, which follows; then the value
///
/// ## Invariants checked
///
/// 1. Each page in use has its own number, a kind that fits its place, and is used once.
/// 2. Nodes lie inside their page; keys ascend in a page, and lie between those around it in the branch
///    above.
/// 3. Leaves are all as deep as the database's record says, and have as many rows as it says.
/// 4. A page is either in use or listed as unused, never both.
struct PageChecker {
    private static let problemLimit = 100
    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let headerSize = 16
    private static let nodeSize = 8
    private static let noPage = UInt64.max

    /// What the file says of one of its databases.
    private struct Record {
        var depth: Int
        var entries: UInt64
        var root: UInt64

        /// Reads the 48 bytes of a record.
        init(_ bytes: ArraySlice<UInt8>) {
            depth = Int(bytes.number(at: 6, size: 2))
            entries = bytes.number(at: 32, size: 8)
            root = bytes.number(at: 40, size: 8)
        }
    }

    private enum Use: UInt8 {
        case unknown, used, unused
    }

    private let descriptor: Int32
    private let pageSize: Int
    private let snapshot: UInt64
    private let extent: Extent
    private var uses: [Use] = []
    private var problems: [String] = []
    private var rows: UInt64 = 0

    /// Which pages are looked at.
    enum Extent {
        /// All of them.
        case everything
        /// Those that are read when a file is opened: the lists of databases and of stores.
        case lists
    }

    /// Checks a file as it is in a snapshot.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - pageSize: The bytes of a page.
    ///   - snapshot: The number of the commit whose state is checked.
    ///   - extent: Which pages are looked at.
    /// - Returns: A sentence for each problem; `nil` when later commits have overwritten the page that
    ///   tells of the snapshot: take another one.
    /// - Throws: `StorageError` when the file cannot be read.
    static func check(
        _ path: String, pageSize: Int, snapshot: Int, extent: Extent = .everything
    ) throws -> [String]? {
        // SAFETY: the path is lent to the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(lmdb: errno) }
        // LMDB holds no lock on this file that closing it could take away.
        defer { close(descriptor) }
        var checker = PageChecker(
            descriptor: descriptor, pageSize: pageSize, snapshot: UInt64(snapshot),
            extent: extent)
        return try checker.run() ? checker.problems : nil
    }

    private init(descriptor: Int32, pageSize: Int, snapshot: UInt64, extent: Extent) {
        self.extent = extent
        self.descriptor = descriptor
        self.pageSize = pageSize
        self.snapshot = snapshot
    }

    /// Does the check; false when the snapshot is not to be found.
    private mutating func run() throws -> Bool {
        guard let meta = try meta() else { return false }
        let last = meta.number(at: 120, size: 8)
        guard last < UInt64(1 << 32) else {
            add("LMDB: the file's size is out of range.")
            return true
        }
        uses = Array(repeating: .unknown, count: Int(last) + 1)
        for page in uses.indices.prefix(2) { uses[page] = .used }
        let unused = Record(meta[24..<72])
        let main = Record(meta[72..<120])
        try check(main, named: "the list of databases", isMain: true)
        if extent == .everything {
            try check(unused, named: "the list of unused pages", isUnused: true)
        }
        return true
    }

    /// The part of a first page that tells of the snapshot.
    private func meta() throws -> ArraySlice<UInt8>? {
        for number in 0..<2 {
            let page = try read(UInt64(number), count: 1)
            guard page.count == pageSize else { continue }
            let meta = ArraySlice(page.dropFirst(Self.headerSize))
            let bytes = Array(meta)[...]
            if bytes.number(at: 0, size: 4) == UInt64(Self.magic),
                bytes.number(at: 128, size: 8) == snapshot
            {
                return bytes
            }
        }
        return nil
    }

    // MARK: - Trees

    private mutating func check(
        _ record: Record, named name: String, isMain: Bool = false, isUnused: Bool = false
    ) throws {
        guard record.root != Self.noPage else {
            if record.entries != 0 { add("LMDB: \(name) has rows and no page.") }
            return
        }
        rows = 0
        try check(
            Subtree(
                page: record.root, depth: record.depth, name: name, isMain: isMain,
                isUnused: isUnused))
        // The main database counts its records after their own trees have been walked.
        if !isMain, rows != record.entries {
            add("LMDB: \(name) has \(rows) rows and should have \(record.entries).")
        }
    }

    private struct Subtree {
        var page: UInt64
        var depth: Int
        var name: String
        var isMain: Bool
        var isUnused: Bool
        var least: [UInt8]?
        var beyond: [UInt8]?
    }

    private mutating func check(_ tree: Subtree) throws {
        guard problems.count < Self.problemLimit, tree.depth > 0,
            use(tree.page, as: .used, for: tree.name)
        else {
            if tree.depth <= 0 { add("LMDB: \(tree.name) is deeper than it should be.") }
            return
        }
        let page = try read(tree.page, count: 1)[...]
        guard page.count == pageSize, page.number(at: 0, size: 8) == tree.page else {
            return add("LMDB: page \(tree.page) of \(tree.name) is not itself.")
        }
        let kind = page.number(at: 10, size: 2) & 0xF
        guard kind == (tree.depth == 1 ? 2 : 1) else {
            return add("LMDB: page \(tree.page) of \(tree.name) is of a wrong kind.")
        }
        guard let nodes = nodes(of: page, isBranch: tree.depth > 1) else {
            return add("LMDB: the nodes of page \(tree.page) of \(tree.name) are out of place.")
        }
        checkOrder(nodes, tree)
        for (position, node) in nodes.enumerated() {
            if tree.depth == 1 {
                try check(node, of: tree)
            } else {
                var child = tree
                child.page = node.child
                child.depth -= 1
                if position > 0 { child.least = node.key }
                if position + 1 < nodes.count { child.beyond = nodes[position + 1].key }
                try check(child)
            }
        }
    }

    private struct Node {
        var key: [UInt8]
        var flags: UInt64
        var size: Int
        var child: UInt64
        /// The value, or for one on overflow pages the number of the first.
        var value: ArraySlice<UInt8>
    }

    /// Cuts a page into its nodes; `nil` when one is not inside the page.
    private func nodes(of page: ArraySlice<UInt8>, isBranch: Bool) -> [Node]? {
        let lower = Int(page.number(at: 12, size: 2))
        let upper = Int(page.number(at: 14, size: 2))
        guard lower >= Self.headerSize, lower <= upper, upper <= pageSize, lower % 2 == 0 else {
            return nil
        }
        let count = (lower - Self.headerSize) / 2
        guard count > (isBranch ? 1 : 0) else { return nil }
        var nodes: [Node] = []
        for position in 0..<count {
            let offset = Int(page.number(at: Self.headerSize + 2 * position, size: 2))
            guard offset >= upper, offset + Self.nodeSize <= pageSize else { return nil }
            let flags = page.number(at: offset + 4, size: 2)
            let low = page.number(at: offset, size: 4)
            let start = offset + Self.nodeSize
            let end = start + Int(page.number(at: offset + 6, size: 2))
            guard end <= pageSize else { return nil }
            let held = isBranch ? 0 : flags & 1 == 1 ? 8 : Int(low)
            guard end + held <= pageSize else { return nil }
            nodes.append(
                Node(
                    key: Array(page[start..<end]), flags: flags, size: Int(low),
                    child: low | flags << 32, value: page[end..<end + held]))
        }
        return nodes
    }

    /// Compares each key with the one before it. The first key of a branch is empty and not compared.
    private mutating func checkOrder(_ nodes: [Node], _ tree: Subtree) {
        // Numbers of transactions, in the order of the machine.
        func order(_ key: [UInt8]) -> [UInt8] { tree.isUnused ? key.reversed() : key }
        var last = tree.depth == 1 ? tree.least.map(order) : nil
        var isFirst = true
        for node in nodes {
            let key = order(node.key)
            defer { isFirst = false }
            if isFirst, tree.depth > 1 { continue }
            if let last,
                isFirst
                    ? key.lexicographicallyPrecedes(last)
                    : !last.lexicographicallyPrecedes(key)
            {
                return add("LMDB: the keys of page \(tree.page) of \(tree.name) are out of order.")
            }
            last = key
        }
        if let last, let beyond = tree.beyond.map(order), !last.lexicographicallyPrecedes(beyond) {
            add("LMDB: the keys of page \(tree.page) of \(tree.name) go too far.")
        }
    }

    // MARK: - Rows

    private mutating func check(_ node: Node, of tree: Subtree) throws {
        rows += 1
        var value = node.value
        if node.flags & 1 == 1 {
            let first = value.number(at: 0, size: 8)
            let pages = (node.size + Self.headerSize + pageSize - 1) / pageSize
            guard let whole = try overflow(first, pages, tree.name) else { return }
            value = whole.dropFirst(Self.headerSize).prefix(node.size)
        }
        if tree.isUnused {
            try noteUnused(Array(value)[...])
        } else if tree.isMain, node.flags & 2 == 2 {
            guard node.size == 48 else { return add("LMDB: the record of a database is damaged.") }
            let counted = rows
            let name = String(decoding: node.key, as: UTF8.self)
            guard extent == .everything || name == Catalogue.name else { return }
            try check(Record(Array(value)[...]), named: "the database '\(name.prefix(20))'")
            rows = counted
        }
    }

    private mutating func overflow(
        _ first: UInt64, _ pages: Int, _ name: String
    ) throws -> ArraySlice<UInt8>? {
        for page in 0..<UInt64(pages) where !use(first &+ page, as: .used, for: name) {
            return nil
        }
        let header = try read(first, count: 1)[...]
        guard header.count == pageSize, header.number(at: 0, size: 8) == first,
            header.number(at: 10, size: 2) & 0xF == 4,
            header.number(at: 12, size: 4) == UInt64(pages)
        else {
            add("LMDB: the large value on page \(first) of \(name) is not itself.")
            return nil
        }
        // Values are verified by their checksums; only the list of unused pages is read here.
        return name == "the list of unused pages" ? try read(first, count: pages)[...] : []
    }

    private mutating func noteUnused(_ list: ArraySlice<UInt8>) throws {
        let count = list.count >= 8 ? list.number(at: 0, size: 8) : .max
        guard count < UInt64(list.count / 8) else {
            return add("LMDB: a row of the list of unused pages is too short.")
        }
        for position in 0..<Int(count) {
            let page = list.number(at: 8 + 8 * position, size: 8)
            if !use(page, as: .unused, for: "the list of unused pages") { return }
        }
    }

    /// Notes the use of a page; false, and a problem, when it has another one.
    private mutating func use(_ page: UInt64, as use: Use, for name: String) -> Bool {
        guard page >= 2, page < UInt64(uses.count) else {
            add("LMDB: \(name) names page \(page), which the file does not have.")
            return false
        }
        guard uses[Int(page)] == .unknown else {
            add("LMDB: page \(page), named by \(name), has another use.")
            return false
        }
        uses[Int(page)] = use
        return true
    }

    // MARK: - Reading

    /// Reads pages; fewer bytes when the file ends before.
    private func read(_ page: UInt64, count: Int) throws -> [UInt8] {
        let size = count * pageSize
        var failure: Int32 = 0
        // SAFETY: each call writes within the buffer's capacity, and what it wrote is what counts.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, done in
            done = 0
            while done < size, let base = buffer.baseAddress {
                let got = unsafe pread(
                    descriptor, base + done, size - done, off_t(Int(page) * pageSize + done))
                if got < 0 && errno == EINTR { continue }
                if got < 0 { failure = errno }
                guard got > 0 else { break }
                done += got
            }
        }
        if failure != 0 { throw StorageError(lmdb: failure) }
        return bytes
    }

    private mutating func add(_ problem: String) {
        if problems.count < Self.problemLimit { problems.append(problem) }
    }
}

extension ArraySlice where Element == UInt8 {
    /// A little-endian number, at an offset from the slice's beginning.
    fileprivate func number(at offset: Int, size: Int) -> UInt64 {
        var number: UInt64 = 0
        for position in (0..<size).reversed() {
            number = number << 8 | UInt64(self[startIndex + offset + position])
        }
        return number
    }
}

extension LMDBTransaction {
    /// What is wrong with the pages of the snapshot; `nil` when another one must be taken.
    func structureProblems() throws -> [String]? {
        try PageChecker.check(
            environment.place.path, pageSize: environment.pageSize, snapshot: snapshotID)
    }
}
