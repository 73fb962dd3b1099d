// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage
internal import DivanSystem

/// Checks the pages of a file of LMDB's, which LMDB itself trusts.
///
/// The file is read, not mapped, and every offset is checked before it is followed, so damage of any kind
/// gives sentences and nothing worse. It must run in a read transaction, which keeps the pages of its
/// snapshot from being used again.
///
/// ## Invariants checked
///
/// 1. The two first pages tell of two commits, one after the other, each in its own of the two.
/// 2. Each page in use has its own number, a kind that fits its place and nothing else in its flags, and is
///    used once.
/// 3. Nodes fill the used part of their page without a gap or an overlap; keys ascend in a page, and lie
///    between those around it in the branch above.
/// 4. Leaves are all as deep as the database's record says, which counts rows and pages of each kind.
/// 5. A page is either in use or listed as unused, never both.
/// 6. The databases are those that the engine makes, the list of stores among them.
/// 7. The ends of long keys lie in spaces that chunks name, each named once, and each space has some.
///
/// In a file that passes, LMDB never leaves its pages, whether it reads or writes. The checksums then
/// decide whether the rows are right.
struct PageChecker {
    private static let problemLimit = 100
    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let headerSize = 16
    private static let noPage = UInt64.max
    /// The most pages above each other that LMDB follows.
    private static let depthLimit = 32
    /// The list of unused pages has numbers as keys, and how the file was first opened among its flags:
    /// here always as a file that is named itself, not its folder.
    private static let unusedFlags: Set<UInt64> = [0x0008, 0x4008]
    /// Above the number of any commit; far below, so that counting on needs no care.
    private static let commitLimit: UInt64 = 1 << 62

    /// What has been found of one database.
    private struct Counts: Equatable {
        var rows: UInt64 = 0
        var branches: UInt64 = 0
        var leaves: UInt64 = 0
        var overflows: UInt64 = 0
    }

    private enum Use: UInt8 {
        case unknown, used, unused
    }

    private let descriptor: Int32
    private let pageSize: Int
    private let snapshot: UInt64
    private let extent: Extent
    private var uses: [Use] = []
    /// The pages that the file has.
    private var there: UInt64 = 0
    private var problems: [String] = []
    private var counts = Counts()
    /// Whether the list of stores has been found.
    private var hasCatalogue = false
    /// The spaces of long keys, by the number of their store.
    private var spaces: [UInt32: Spaces] = [:]

    /// The spaces that chunks name, and those that keys lie in. See `LongKeys`.
    private struct Spaces {
        var named: Set<UInt64> = []
        var used: Set<UInt64> = []
        var isNamedTwice = false
    }

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
    ///   - descriptor: The file, which LMDB has open: it may have been moved since.
    ///   - pageSize: The bytes of a page.
    ///   - snapshot: The number of the commit whose state is checked.
    ///   - extent: Which pages are looked at.
    /// - Returns: A sentence for each problem; `nil` when later commits have overwritten the page that
    ///   tells of the snapshot: take another one.
    /// - Throws: `StorageError` when the file cannot be read.
    static func check(
        _ descriptor: Int32, pageSize: Int, snapshot: Int, extent: Extent = .everything
    ) throws -> [String]? {
        var checker = PageChecker(
            descriptor: descriptor, pageSize: pageSize,
            snapshot: UInt64(bitPattern: Int64(snapshot)),
            extent: extent)
        return try checker.run() ? checker.problems : nil
    }

    /// Whether a file begins with two first pages that agree on what LMDB takes from them as it opens a
    /// file: their kind, the size of a page, how many pages there are, for which it takes address space, and
    /// the number of the commit. An empty file does.
    static func beginsSoundly(_ path: String) throws -> Bool {
        let file: FileHandle
        do { file = try FileHandle(anyKindAt: path, .read) } catch { throw StorageError(error) }
        defer { withExtendedLifetime(file) {} }
        let start = PageChecker(
            descriptor: file.descriptor, pageSize: 512, snapshot: 0, extent: .lists)
        let first = try start.read(0, count: 1)[...]
        guard !first.isEmpty else { return true }
        let size = first.count == 512 ? first.number(at: 40, size: 4) : 0
        guard size.nonzeroBitCount == 1, 512...65_536 ~= size else { return false }
        let second = try start.read(size / 512, count: 1)[...]
        let length = try start.fileSize()
        return [first, second].enumerated().allSatisfy { number, page in
            page.count == 512 && page.number(at: 0, size: 8) == UInt64(number)
                && page.number(at: 10, size: 2) == 8
                && page.number(at: 16, size: 4) == UInt64(magic)
                && page.number(at: 40, size: 4) == size
                && page.number(at: 144, size: 8) < commitLimit
                && isPossible(last: page.number(at: 136, size: 8), length, pageSize: Int(size))
        }
    }

    /// Whether a file of a length can have a last page: pages at its end may never have been written, but
    /// then they are listed as unused, each by 8 bytes in the file.
    private static func isPossible(last: UInt64, _ length: Int, pageSize: Int) -> Bool {
        last < UInt64(length / pageSize) + UInt64(length / 8)
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
        let size = try fileSize()
        there = UInt64(size / pageSize)
        guard Self.isPossible(last: last, size, pageSize: pageSize) else {
            add("LMDB: the file is far shorter than it says.")
            return true
        }
        uses = Array(repeating: .unknown, count: Int(last) + 1)
        for page in uses.indices.prefix(2) { uses[page] = .used }
        let unused = DatabaseRecord(meta[24..<72])
        let main = DatabaseRecord(meta[72..<120])
        try check(main, named: "the list of databases", isMain: true)
        if main.entries > 0, !hasCatalogue { add("LMDB: the list of stores is not there.") }
        for spaces in spaces.values where spaces.isNamedTwice || spaces.named != spaces.used {
            add("LMDB: beginnings and ends of the long keys of a store are not of one another.")
        }
        if extent == .everything {
            try check(unused, named: "the list of unused pages", isUnused: true)
        }
        return true
    }

    /// How often the first pages are read again while other writers commit.
    private static let metaLimit = 20

    /// The part of a first page that tells of the snapshot.
    private mutating func meta() throws -> ArraySlice<UInt8>? {
        var isFollowing = false
        for _ in 0..<Self.metaLimit where !isFollowing {
            let metas = [try meta(on: 0), try meta(on: 1)]
            let numbers = metas.map { $0?.number(at: 128, size: 8) }
            // The commit n is told of by the first page of n's parity, the one before by the other.
            isFollowing = metas.allSatisfy { $0 != nil } && Self.follow(numbers[0], numbers[1])
            if isFollowing, let found = numbers.firstIndex(of: snapshot) {
                return metas[found]
            }
        }
        if !isFollowing {
            add("LMDB: the two first pages do not tell of two commits, one after the other.")
            // What they say cannot be followed.
            return try meta(on: Int(snapshot % 2)) ?? meta(on: Int((snapshot + 1) % 2))
        }
        return nil
    }

    private static func follow(_ even: UInt64?, _ odd: UInt64?) -> Bool {
        guard let even, let odd else { return false }
        // Both are 0 in a new file.
        if even == 0, odd == 0 { return true }
        return even % 2 == 0 && odd % 2 == 1 && (even &+ 1 == odd || odd &+ 1 == even)
    }

    /// What a first page says; `nil` when it is no first page.
    private func meta(on number: Int) throws -> ArraySlice<UInt8>? {
        let page = try read(UInt64(number), count: 1)
        guard page.count == pageSize else { return nil }
        let meta = Array(page.dropFirst(Self.headerSize))[...]
        return meta.number(at: 0, size: 4) == UInt64(Self.magic) ? meta : nil
    }

    // MARK: - Trees

    private mutating func check(
        _ record: DatabaseRecord, named name: String, isMain: Bool = false, isUnused: Bool = false,
        rows: Catalogue.Rows? = nil
    ) throws {
        guard isUnused ? Self.unusedFlags.contains(record.flags) : record.flags == 0 else {
            return add("LMDB: \(name) has flags that it should not have.")
        }
        guard record.depth <= Self.depthLimit else {
            return add("LMDB: \(name) is deeper than LMDB follows.")
        }
        let outer = counts
        defer { counts = outer }
        counts = Counts()
        let before = problems.count
        if record.root != Self.noPage {
            try check(
                Subtree(
                    page: record.root, depth: record.depth, name: name, isMain: isMain,
                    isUnused: isUnused, rows: rows))
        }
        let expected = Counts(
            rows: record.entries, branches: record.branches, leaves: record.leaves,
            overflows: record.overflows)
        if problems.count == before, counts != expected {
            add("LMDB: the rows or pages of \(name) are not as many as it says.")
        }
    }

    private struct Subtree {
        var page: UInt64
        var depth: Int
        var name: String
        var isMain: Bool
        var isUnused: Bool
        var rows: Catalogue.Rows?
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
        guard page.number(at: 10, size: 2) == (tree.depth == 1 ? 2 : 1) else {
            return add("LMDB: page \(tree.page) of \(tree.name) is of a wrong kind.")
        }
        guard let nodes = PageNode.nodes(of: page, isBranch: tree.depth > 1) else {
            return add("LMDB: the nodes of page \(tree.page) of \(tree.name) are out of place.")
        }
        if tree.depth == 1 { counts.leaves += 1 } else { counts.branches += 1 }
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

    /// Compares each key with the one before it. The first key of a branch is empty and not compared.
    private mutating func checkOrder(_ nodes: [PageNode], _ tree: Subtree) {
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

    private mutating func check(_ node: PageNode, of tree: Subtree) throws {
        counts.rows += 1
        // Databases have records in the main one, and nothing else has.
        guard node.isRecord == tree.isMain else {
            return add("LMDB: a row of \(tree.name) is of a wrong kind.")
        }
        var value = node.value
        if node.isLarge {
            let first = value.number(at: 0, size: 8)
            guard let whole = try overflow(first, node.size, tree) else { return }
            value = whole.dropFirst(Self.headerSize).prefix(node.size)
        }
        if tree.isUnused {
            noteUnused(Array(value)[...], freedBy: node.key)
        } else if node.isRecord {
            let name = String(decoding: node.key, as: UTF8.self)
            let rows = Catalogue.Rows(name)
            guard rows != nil || name == Catalogue.name else {
                return add("LMDB: the list of databases has one that the engine does not make.")
            }
            if rows == nil { hasCatalogue = true }
            guard extent == .everything || name == Catalogue.name else { return }
            try check(
                DatabaseRecord(Array(value)[...]), named: "the database '\(name)'", rows: rows)
        } else if let rows = tree.rows {
            noteSpaces(node, rows)
        }
    }

    /// Notes the space that a long key lies in, and the one that a chunk names.
    private mutating func noteSpaces(_ node: PageNode, _ rows: Catalogue.Rows) {
        let isChunk = LongKeys.isChunk(length: node.key.count, inSpace: rows.isLong)
        guard rows.isLong || isChunk else { return }
        var found = spaces[rows.number] ?? Spaces()
        spaces[rows.number] = nil
        defer { spaces[rows.number] = found }
        if rows.isLong {
            guard node.key.count > LongKeys.spaceSize else {
                return add("LMDB: the end of a long key is too short.")
            }
            found.used.insert(Self.space(node.key[...]))
        }
        if isChunk, !node.isLarge, node.value.count >= LongKeys.spaceSize {
            let name = Self.space(node.value)
            if !found.named.insert(name).inserted { found.isNamedTwice = true }
        }
    }

    /// The number of a space, as a key begins with it.
    private static func space(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.number(at: 0, size: LongKeys.spaceSize).byteSwapped
    }

    /// Checks the pages of a large value, and returns them if they are to be read.
    ///
    /// There may be more than its size needs: one that is made smaller in the transaction that has made
    /// it keeps its pages.
    private mutating func overflow(
        _ first: UInt64, _ size: Int, _ tree: Subtree
    ) throws -> ArraySlice<UInt8>? {
        guard first >= 2, first < there else {
            _ = use(first, as: .used, for: tree.name)
            return nil
        }
        let header = try read(first, count: 1)[...]
        let pages = header.count == pageSize ? header.number(at: 12, size: 4) : 0
        guard header.count == pageSize, header.number(at: 0, size: 8) == first,
            header.number(at: 10, size: 2) == 4,
            pages >= UInt64((size + Self.headerSize + pageSize - 1) / pageSize)
        else {
            add("LMDB: the large value on page \(first) of \(tree.name) is not itself.")
            return nil
        }
        for page in 0..<pages where !use(first &+ page, as: .used, for: tree.name) {
            return nil
        }
        counts.overflows += pages
        // Values are verified by their checksums; only the list of unused pages is read here.
        return tree.isUnused ? try read(first, count: Int(pages))[...] : []
    }

    /// Notes the pages that a commit has freed, which are listed from the last one down.
    private mutating func noteUnused(_ list: ArraySlice<UInt8>, freedBy key: [UInt8]) {
        let count = list.count >= 8 ? list.number(at: 0, size: 8) : .max
        guard count < UInt64(list.count / 8), key.count == 8,
            key[...].number(at: 0, size: 8) <= snapshot
        else { return add("LMDB: a row of the list of unused pages is not one.") }
        var above = UInt64.max
        for position in 0..<Int(count) {
            let page = list.number(at: 8 + 8 * position, size: 8)
            guard page < above else {
                return add("LMDB: a row of the list of unused pages is out of order.")
            }
            if !use(page, as: .unused, for: "the list of unused pages") { return }
            above = page
        }
    }

    /// Notes the use of a page; false, and a problem, when it has another one.
    private mutating func use(_ page: UInt64, as use: Use, for name: String) -> Bool {
        guard page >= 2, page < UInt64(uses.count), use == .unused || page < there else {
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

    private func fileSize() throws -> Int {
        do { return try FileStatus(of: descriptor, path: "").length } catch {
            throw StorageError(error)
        }
    }

    /// Reads pages; fewer bytes when the file ends before.
    private func read(_ page: UInt64, count: Int) throws -> [UInt8] {
        let offset = Int(page) * pageSize
        do {
            return try Descriptors.read(
                descriptor, at: offset, upTo: count * pageSize, path: "")
        } catch { throw StorageError(error) }
    }

    private mutating func add(_ problem: String) {
        if problems.count < Self.problemLimit { problems.append(problem) }
    }
}
