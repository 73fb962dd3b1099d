// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanIndex
public import DivanJSON
public import DivanModel
internal import DivanPlatform
internal import DivanStorage
internal import Synchronization

/// A persistent index over the documents of a database, made by a function of the app.
///
/// ```swift
/// let byOwner = database.view(named: "byOwner")
/// byOwner.setMap(version: "1") { document, emit in
///     if document["type"].string == "task" { emit(document["owner"], nil) }
/// }
/// for row in try byOwner.query(.keys("todo")).run() { print(row.documentID ?? "") }
/// ```
///
/// The *map function* gets each current document and emits any number of rows. Rows are kept sorted
/// by key, so that queries find ranges of keys at once. The index is brought up to date when it is
/// queried: only documents that changed since are mapped. It is kept in the database, but functions
/// cannot be, so the app sets the map function each time it starts.
///
/// A map function must depend on nothing but the document. It may run on any thread, on several at
/// once, at any time or never; it must not change the database. When what it emits changes, the
/// version text must change too, and the index is built anew. While the text stays the same, the
/// index is kept.
///
/// A *reduce* (see ``Reduce``) folds the rows of a range or a group into one value.
///
/// Deleted documents have no rows, design documents neither; of a document in conflict the winner is
/// mapped. A document whose map throws has no rows and is reported in ``failures``.
///
/// State: `definition` and what belongs to it, guarded by one mutex.
public final class DatabaseView: Sendable {
    /// A map function: gets a document and emits rows.
    public typealias Map = @Sendable (_ document: Document, _ emit: Emitter) throws -> Void

    private struct State {
        var version: String?
        var map: Map?
        var reduce: Reduce?
        var collation = Collation.unicode
        var documentType: String?
        /// What maps documents for it and other views at once, in place of a function of its own.
        var group: IndexDefinition.Group?
        var includesDesign = false
        var isPartitioned = false
        var failures: [IndexingFailure] = []
        var statistics = IndexingStatistics()
        var scanned: ScannedIndex?
        var isDeleted = false
        /// What the properties above come to; nil until it is asked for.
        var functions: Functions?
        /// The record of the index as it was seen last.
        var record: KnownIndexRecord?
    }

    /// What the indexer and queries need to know.
    private struct Functions {
        var definition: IndexDefinition
        var reducer: (any ViewReducer)?
    }

    /// The view's name.
    public let name: String
    let core: DatabaseCore
    let registry: ViewRegistry
    /// Whether it is not registered and nothing of it is stored: it answers by a scan each time.
    let isOneShot: Bool
    private let state = Mutex(State())

    init(name: String, core: DatabaseCore, registry: ViewRegistry, isOneShot: Bool = false) {
        self.name = name
        self.isOneShot = isOneShot
        self.core = core
        self.registry = registry
    }

    // MARK: - Definition

    /// Sets the functions of the view.
    ///
    /// - Parameters:
    ///   - version: A text that changes whenever what the functions give does.
    ///   - reduce: What folds rows, if anything.
    ///   - map: The map function.
    /// - Returns: Whether the stored index was made by another version, or none is stored; it is then
    ///   built anew at the next query.
    @discardableResult
    public func setMap(version: String, reduce: Reduce? = nil, _ map: @escaping Map) -> Bool {
        state.withLock { state in
            state.version = version
            state.map = map
            state.reduce = reduce
            state.group = nil
            state.includesDesign = false
            state.functions = nil
        }
        registry.definitionChanged(name)
        guard let definition = try? definition() else { return true }
        let stored = try? core.read { try $0.indexRecord(indexName) }
        return !definition.signature.hasSameBytes(as: stored?.signature)
    }

    /// Sets what maps documents for the view, together with other views.
    ///
    /// - Parameters:
    ///   - version: A text that changes whenever what the view emits does.
    ///   - mapper: What maps; the views that have the same are brought up to date together.
    ///   - place: Which element of the mapper's answers is the view's.
    ///   - reduce: What folds rows, if anything.
    ///   - collation: The order of keys.
    ///   - includesDesign: Whether design documents are mapped, too.
    ///   - isPartitioned: Whether rows lie by the partitions of their documents.
    package func setMap(
        version: String, by mapper: any GroupMapper, place: Int, reduce: Reduce?,
        collation: Collation, includesDesign: Bool, isPartitioned: Bool = false
    ) {
        state.withLock { state in
            state.version = version
            state.map = { _, _ in }
            state.reduce = reduce
            state.group = IndexDefinition.Group(mapper: mapper, place: place)
            state.includesDesign = includesDesign
            state.isPartitioned = isPartitioned
            state.collation = collation
            state.functions = nil
        }
        registry.definitionChanged(name)
    }

    /// The version text that the stored index was built with; nil when none is stored.
    package var storedVersion: String? {
        get throws { try core.read { try $0.indexRecord(indexName)?.version } }
    }

    /// The bytes of the stored rows and reductions; 0 before the index is first built. All of it is read for that.
    package var storedBytes: Int {
        get throws {
            try core.read { snapshot in
                guard let record = try snapshot.indexRecord(indexName) else { return 0 }
                return try snapshot.storedBytes(of: record)
            }
        }
    }

    /// What maps it together with other views; nil when it maps by itself.
    package var groupMapper: (any GroupMapper)? { state.withLock { $0.group?.mapper } }

    /// The order of keys; `.unicode` unless set. Setting it to another one builds the index anew.
    public var collation: Collation {
        get { state.withLock(\.collation) }
        set {
            state.withLock { ($0.collation, $0.functions) = (newValue, nil) }
            registry.definitionChanged(name)
        }
    }

    /// Whether rows lie by the partitions of their documents, in a partitioned database; false unless set.
    ///
    /// Such a view is asked for one partition, `database.partition("x").query(view)`, and finds, counts and reduces its
    /// rows without touching those of other partitions. It cannot be asked for the rows of all. Setting it to
    /// another value builds the index anew.
    public var isPartitioned: Bool {
        get { state.withLock(\.isPartitioned) }
        set {
            state.withLock { ($0.isPartitioned, $0.functions) = (newValue, nil) }
            registry.definitionChanged(name)
        }
    }

    /// The documents that are mapped: those whose `type` is this; nil for all. Setting it to another
    /// one builds the index anew.
    public var documentType: String? {
        get { state.withLock(\.documentType) }
        set {
            state.withLock { ($0.documentType, $0.functions) = (newValue, nil) }
            registry.definitionChanged(name)
        }
    }

    /// The version text of the functions; nil before they are set.
    package var version: String? { state.withLock(\.version) }

    /// Whether a map function has been set in this process.
    public var isDefined: Bool { state.withLock { $0.map != nil && !$0.isDeleted } }

    /// Whether the view has a reduce.
    public var hasReduce: Bool { state.withLock { $0.reduce != nil } }

    /// The documents that the map function failed for when the index was last brought up to date, the
    /// first hundred of them.
    public var failures: [IndexingFailure] { state.withLock(\.failures) }

    /// The statistics of the last time that this process brought the index up to date.
    public var statistics: IndexingStatistics { state.withLock(\.statistics) }

    /// Whether the map function emits a row for a document; false where it fails for it.
    ///
    /// - Throws: `.invalidQuery` when no map function is set.
    package func emits(for document: Document) throws -> Bool {
        let definition = try definition()
        var id: [UInt8] = []
        RowDocumentID.append(document.id, to: &id)
        guard definition.maps(id.span, document) else { return false }
        var emissions = EmissionBatch()
        emissions.begin(id.span)
        let sink = EmissionSink(definition.coder)
        if let group = definition.group {
            let rows = try group.mapper.map([document]).first?[group.place]
            return rows.map { $0.count > 0 } ?? false
        }
        do { try sink.collect(document, by: definition, into: &emissions) } catch { return false }
        return emissions.rowCount > 0
    }

    var indexName: IndexName { IndexName(.view, name) }

    /// What folds the rows of queries, also where nothing of it is stored.
    var reducer: (any ViewReducer)? { functions()?.reducer }

    /// What the indexer needs to know.
    ///
    /// - Throws: `.invalidQuery` when no map function is set.
    func definition() throws -> IndexDefinition {
        guard let functions = functions() else { throw DatabaseError.viewWithoutMap(name) }
        return functions.definition
    }

    /// Made once for each change of the view; nil when no map function is set.
    private func functions() -> Functions? {
        state.withLock { state in
            if let known = state.functions { return known }
            guard let map = state.map, let version = state.version, !state.isDeleted
            else { return nil }
            var coder = RowKeyCoder(state.collation, strings: ICUCollator.root)
            coder.followsPartition = state.isPartitioned
            let reducer = state.reduce?.reducer.reading(coder)
            let definition = IndexDefinition(
                name: indexName, version: version, collation: state.collation,
                documentType: state.documentType,
                map: { document, sink in try map(document, Emitter(sink: sink)) },
                reducer: reducer?.isStored == true ? reducer : nil,
                group: state.group, includesDesign: state.includesDesign,
                isPartitioned: state.isPartitioned)
            state.functions = Functions(definition: definition, reducer: reducer)
            return state.functions
        }
    }

    /// The record of the index, which is decoded only when it is another one than the last time.
    func record(in snapshot: Snapshot) throws -> IndexRecord? {
        let known = state.withLock(\.record)
        let found = try snapshot.indexRecord(indexName, unless: known)
        if let found, found.bytes != known?.bytes { state.withLock { $0.record = found } }
        return found?.record
    }

    /// Whether the index, as a snapshot has it, may answer a query that has brought it up to date.
    ///
    /// - Parameters:
    ///   - snapshot: The snapshot.
    ///   - withDocuments: Whether documents of the snapshot stand beside the rows, which must then be theirs. Otherwise
    ///     rows of an earlier moment fit together as well.
    /// - Returns: Whether the index may answer.
    /// - Throws: `.invalidQuery` when no map function is set.
    func mayAnswer(in snapshot: Snapshot, withDocuments: Bool) throws -> Bool {
        let definition = try definition()
        guard let record = try record(in: snapshot) else { return false }
        guard withDocuments else { return record.isMade(by: definition) && record.hasPartials }
        return try snapshot.isUpToDate(record, definition)
    }

    // MARK: - Querying

    /// Makes a query of the view.
    ///
    /// - Parameter keys: Which keys it finds; all unless given. The query's properties narrow it down.
    /// - Returns: The query, to be changed and run.
    public func query(_ keys: KeySelection = .all) -> ViewQuery {
        ViewQuery(source: .view(self), keys: keys)
    }

    // MARK: - The index

    /// Brings the index up to date, with all other outdated views of the app, or of its design document.
    ///
    /// Queries do so by themselves. It works in pieces, between which other threads read and write;
    /// what was done stays done when it is stopped.
    ///
    /// - Parameter progress: Gets reports; throwing stops the work.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when no map function is set, `.readOnly`
    ///   (also inside a read), or as `Database.write(_:)`; and what `progress` throws.
    public func updateIndex(progress: ProgressHandler? = nil) throws {
        var definitions = [try definition()]
        definitions += registry.otherDefinitions(than: self)
        let report: IndexPass.Report
        do {
            report = try IndexPass(core: core, definitions: definitions, progress: progress)
                .runMending()
        } catch let error as DatabaseError where error.underlying is IndexCorruption {
            // Nothing tells which index this is of. An index holds nothing that cannot be made again.
            try deleteIndex()
            return try rebuild(progress)
        }
        keep(report)
    }

    private func rebuild(_ progress: ProgressHandler?) throws {
        keep(
            try IndexPass(core: core, definitions: [definition()], progress: progress).run())
    }

    private func keep(_ report: IndexPass.Report) {
        for (name, failures) in report.failures {
            guard let view = registry.view(name.name) else { continue }
            view.state.withLock { $0.failures = failures }
        }
        for (name, statistics) in report.statistics {
            registry.view(name.name)?.state.withLock { $0.statistics = statistics }
        }
    }

    /// Whether documents have changed since the index was last brought up to date.
    public var isStale: Bool {
        get throws {
            let definition = try? definition()
            return try core.read { snapshot in
                guard let record = try snapshot.indexRecord(indexName) else { return true }
                let isMade = definition.map(record.isMade) ?? true
                return try !isMade || record.isOutdated(in: snapshot.state())
            }
        }
    }

    /// The sequence up to which changes are in the index; 0 before it is first built.
    public var lastSequenceIndexed: SequenceNumber {
        get throws { try core.read { try $0.indexRecord(indexName)?.lastSequence ?? 0 } }
    }

    /// The number of rows, of all partitions, after bringing the index up to date.
    public var totalRows: Int {
        get throws {
            var query = query()
            query.mapOnly = true
            query.countsAllPartitions = true
            query.limit = 0
            return try query.run().totalRows
        }
    }

    /// The rows as they would be in an index that is up to date, in memory: for a database that must
    /// not be written, and for a query inside a read. Kept until something changes.
    ///
    /// - Returns: nil when the stored index is up to date.
    func scan() throws -> ScannedIndex? {
        let definition = try definition()
        if isOneShot { return try ScannedIndex(core, definition, isOneShot: true) }
        let (now, record) = try core.read { snapshot in
            (try snapshot.state(), try snapshot.indexRecord(indexName))
        }
        if let record, record.isMade(by: definition), !record.isOutdated(in: now) { return nil }
        let mark = now.mark
        let known = state.withLock(\.scanned)
        // Inside a read, what is newer than its snapshot would be wrong, too.
        if let known, known.signature.hasSameBytes(as: definition.signature),
            mark.isReached(by: known.mark),
            !core.isInRead || known.mark.isReached(by: mark)
        {
            return known
        }
        let scanned = try ScannedIndex(core, definition)
        state.withLock {
            $0.scanned = scanned
            $0.failures = scanned.failures
        }
        return scanned
    }

    /// Deletes the index; the next query builds it anew.
    public func deleteIndex() throws {
        _ = try core.write { try $0.dropIndex(indexName) }
    }

    /// Deletes the view: its index, and its functions.
    public func delete() throws {
        try deleteIndex()
        state.withLock { ($0.isDeleted, $0.functions) = (true, nil) }
        registry.remove(self)
        registry.definitionChanged(name)
    }
}

extension DatabaseView: CustomStringConvertible {
    /// The name, for logs.
    public var description: String { "DatabaseView(\(name))" }
}
