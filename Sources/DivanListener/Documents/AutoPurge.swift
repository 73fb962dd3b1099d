// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging
internal import DivanModel
internal import Dispatch
internal import Synchronization

/// Purges documents that were deleted long ago, where an administrator has said how long.
///
///     feed       1 … purged … 4,711 │ deleted before now − 30 days … 9,002 │ younger …
///                                   └── looked at by this run ────────────┘
///
/// When a document was deleted is known by ``TimeBins`` alone: at the latest at the end of its bin. So a document is purged later than
/// was asked, up to the length of that bin, and never sooner.
///
/// How long is said for a database by `_auto_purge`, for all others by `couch_auto_purge_plugin/deleted_document_ttl`. Both are kept in a
/// local document that no client can reach, with how far the feed was looked at: a document that changes afterwards stands behind that again.
///
/// State: the timer, guarded by the mutex.
final class AutoPurge: Sendable {
    /// Where its configuration is.
    static let sections = ["couch_auto_purge_plugin"]
    /// How often it looks, and for the first time after the start, in seconds.
    private static let (interval, first) = (3_600, 60)
    /// How many changes are looked at, and documents purged, in one transaction.
    private static let batch = 500

    private static let documentID: DocumentID = "\(Call.hiddenPrefix)auto-purge"
    static let periodName = "deleted_document_ttl"
    private static let doneName = "through"

    private let queue = DispatchQueue(label: "divan.auto-purge", qos: .utility)
    private let timer = Mutex<(any DispatchSourceTimer)?>(nil)
    private let isStopped = Atomic(false)

    /// Looks at the databases that are open from now on: in others nothing has been deleted since the start, and to open them all
    /// would keep them open.
    func begin(_ site: Site) {
        guard !site.options.readOnly else { return }
        timer.withLock { timer in
            let source = DispatchSource.makeTimerSource(queue: queue)
            source.schedule(
                deadline: .now() + .seconds(Self.first), repeating: .seconds(Self.interval),
                leeway: .seconds(10))
            source.setEventHandler { [weak self, weak site] in
                guard let self, let site else { return }
                self.run(site)
            }
            source.activate()
            timer = source
        }
    }

    /// Looks no more; a transaction that has begun ends.
    func end() {
        isStopped.store(true, ordering: .relaxed)
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
    }

    /// Looks at the databases that are open once.
    func run(_ site: Site, clock: () -> Int64 = { AccountsFile.now }) {
        for database in site.manager.openedDatabases {
            guard !isStopped.load(ordering: .relaxed) else { return }
            run(database, site, clock)
        }
    }

    private func run(_ database: Database, _ site: Site, _ clock: () -> Int64) {
        let name = database.name
        do {
            let count = try purge(database, site, clock: clock)
            guard count > 0 else { return }
            let verb = site.configuration.settings.onlyCountsPurges ? "would be" : "were"
            Log.listener.info(
                "\(count) documents of '\(name)' \(verb) purged, since they were deleted long ago.")
        } catch {
            // It may have been closed or deleted meanwhile.
            guard !database.isClosed else { return }
            Log.listener.error(
                "Deleted documents of '\(name)' could not be purged: \(Log.words(of: error))")
        }
    }

    /// Purges what was deleted long ago.
    ///
    /// - Returns: How many documents.
    func purge(_ database: Database, _ site: Site, clock: () -> Int64) throws -> Int {
        let settings = site.configuration.settings
        let stored = try Self.stored(in: database)
        let own = stored[Self.periodName]?.string.flatMap(TimePeriod.init)
        guard case .seconds(let seconds)? = own ?? settings.purgesDeletedAfter else { return 0 }
        try site.times.note(database, clock: clock)
        let limit = try site.times.bins(of: database)
            .sequence(at: clock().subtractingSaturated(seconds))
        let start = stored[Self.doneName]?.int64.map { SequenceNumber(clamping: $0) } ?? 0
        var (position, count) = (start, 0)
        while position < limit, !isStopped.load(ordering: .relaxed) {
            let changes = try database.changes(since: position, limit: Self.batch).changes
            guard let last = changes.last else { break }
            let dead = changes.filter { $0.isDeleted && $0.sequence <= limit }
            position = min(last.sequence, limit)
            if !settings.onlyCountsPurges {
                let goesOn = try Self.purge(dead, through: position, as: stored, in: database)
                guard goesOn else { break }
            }
            count += dead.count
        }
        return count
    }

    /// Purges some documents, and notes how far that is done.
    ///
    /// - Returns: Whether the database says the same as before; else nothing was done.
    private static func purge(
        _ dead: [Change], through position: SequenceNumber, as stored: JSONObject,
        in database: Database
    ) throws -> Bool {
        try database.write { transaction in
            var object = try transaction.read { try $0.localDocument(documentID) } ?? [:]
            guard object[periodName] == stored[periodName] else { return false }
            // What is no leaf any more, because a client has edited the document meanwhile, is left alone.
            for change in dead {
                try transaction.purge(change.id, revisions: change.revisions)
            }
            object[doneName] = .integer(Int64(clamping: position))
            try transaction.putLocalDocument(documentID, object)
            return true
        }
    }

    /// What was stored for a database; empty where nothing was.
    static func stored(in database: Database) throws -> JSONObject {
        try database.localDocument(documentID) ?? [:]
    }

    /// Says how long after its deletion a document is purged; nil as the configuration says.
    static func store(_ period: String?, in database: Database) throws {
        // Without how far the feed was looked at: what a longer time has left is looked at again.
        try database.putLocalDocument(documentID, period.map { [periodName: .string($0)] } ?? [:])
    }
}
