// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanSystem
internal import Synchronization

/// What happens to databases as wholes: the news of `_db_updates`.
///
/// Of each database the last event is kept, and so are the last ten thousand deletions. The list begins
/// with the first request, at which every database there is counts as created; places in it hold for as
/// long as the listener runs, and one of an earlier run counts as the beginning.
///
/// State: `state`, guarded by its mutex; no other code is called while it is held.
final class DatabaseUpdates: Sendable {
    /// What happened last to a database.
    struct Event: Sendable {
        var number: UInt64
        var name: String
        var kind: Kind
    }

    enum Kind: String, Sendable {
        case created, updated, deleted
    }

    private struct Following {
        let database: Database
        let incarnation: String
        /// The last place when it began, with the news of it.
        var place: UInt64
        let token: ListenerToken
    }

    private struct State {
        var number: UInt64 = 0
        var events: NameMap<Event> = [:]
        var followed: NameMap<Following> = [:]
        /// The databases that could not be opened when last looked for.
        var unopened: NameSet = []
        var nextFollower = 0
        var followers: [Int: @Sendable () -> Void] = [:]
        var isOn = false

        /// Keeps the newest deletions, at least so many, where names come and go without end.
        mutating func forgetOldDeletions() {
            guard events.count - followed.count > 2 * DatabaseUpdates.mostDeletions else { return }
            let deletions = events.values.filter { $0.kind == .deleted }
                .sorted { $0.number < $1.number }
            for event in deletions.dropLast(DatabaseUpdates.mostDeletions) {
                events[event.name] = nil
            }
        }
    }

    private static let mostDeletions = 10_000

    /// Tells the places of this run from those of another.
    private let run = Hexadecimal.text(RandomBytes.make(4))
    private let state = Mutex(State())

    /// The text of a place.
    func sequence(_ number: UInt64) -> String { "\(number)-\(run)" }

    /// The place that a text means.
    func number(_ text: String) -> UInt64 {
        let parts = text.filter { $0 != "\"" }.split(separator: "-")
        return parts.count == 2 && parts[1] == run ? UInt64(parts[0], radix: 10) ?? 0 : 0
    }

    /// The last place.
    var last: UInt64 { state.withLock { $0.number } }

    /// The events behind a place, in their order.
    func events(after number: UInt64) -> [Event] {
        state.withLock { $0.events.values.filter { $0.number > number } }
            .sorted { $0.number < $1.number }
    }

    /// Notes an event, once a client has asked for them.
    ///
    /// What is deleted is not followed any more, so that nothing of it is kept but this news.
    func note(_ kind: Kind, _ name: String) {
        let (followers, gone) = state.withLock { state in
            guard state.isOn else { return ([@Sendable () -> Void](), Following?.none) }
            state.number += 1
            state.events[name] = Event(number: state.number, name: name, kind: kind)
            if kind == .deleted { state.forgetOldDeletions() }
            let gone = kind == .deleted ? state.followed.removeValue(forKey: name) : nil
            return (Array(state.followers.values), gone)
        }
        gone?.token.remove()
        for follower in followers { follower() }
    }

    /// Calls a closure after each event, until it is removed by the number that is returned.
    func follow(_ wake: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.nextFollower += 1
            state.followers[state.nextFollower] = wake
            return state.nextFollower
        }
    }

    func remove(_ follower: Int) { state.withLock { $0.followers[follower] = nil } }

    /// Looks which databases have come and gone without the listener, and follows those that are there.
    func look(_ manager: Manager) throws {
        state.withLock { $0.isOn = true }
        let names = NameSet(try manager.allDatabaseNames())
        let (gone, known) = state.withLock { state in
            let gone = state.followed.filter {
                $0.value.database.isClosed || !names.contains($0.key)
            }
            for name in gone.keys { state.followed[name] = nil }
            state.unopened.formIntersection(names)
            return (gone, NameSet(state.followed.keys))
        }
        for (name, entry) in gone {
            entry.token.remove()
            let isKnown = state.withLock { $0.events[name]?.kind == .deleted }
            if !names.contains(name), !isKnown { note(.deleted, name) }
        }
        for name in names.subtracting(known).sorted() {
            guard let database = open(name, of: manager) else { continue }
            let token = try database.whenCommitted { [weak self, weak database] in
                guard let self, let database, !database.isClosed else { return }
                self.note(.updated, name)
            }
            let old = gone[name]
            let isNews = state.withLock { state in
                state.followed[name] = Following(
                    database: database, incarnation: database.incarnation, place: state.number,
                    token: token)
                // One that was closed and opened again is the same; one that was deleted and made again is not,
                // and is news unless the listener itself has made it.
                if let old, old.incarnation.hasSameBytes(as: database.incarnation) { return false }
                guard let last = state.events[name], last.kind == .created else { return true }
                return old.map { last.number <= $0.place } ?? false
            }
            guard isNews else { continue }
            note(.created, name)
            state.withLock { $0.followed[name]?.place = $0.number }
        }
    }

    /// Opens a database to follow it; nil when it is gone, or cannot be opened now, which is logged once.
    private func open(_ name: String, of manager: Manager) -> Database? {
        do {
            let database = try manager.existingDatabase(named: name)
            state.withLock { _ = $0.unopened.remove(name) }
            return database
        } catch {
            let isNews = state.withLock { $0.unopened.insert(name).inserted }
            if isNews { _ = ErrorResponse.told(error, ofDatabase: name) }
            return nil
        }
    }
}
