// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanListener
import FoundationEssentials
import Synchronization

/// Replications, feeds, live queries and listeners that begin and end; see `Rounds`.
struct ConversationRounds {
    private let manager: Manager
    private let rounds: Rounds
    private let database: Database
    private let target: Database

    init(_ arguments: [String]) throws {
        manager = try Manager(directory: URL(filePath: arguments.argument(0)))
        rounds = Rounds(count: try arguments.number(1))
        database = try manager.database(named: "db")
        target = try manager.database(named: "target")
        try database.save(MutableDocument(["n": 1], id: "a"))
    }

    func run() throws {
        let listener = try makeListener()
        let url = "http://127.0.0.1:\(listener.port ?? 0)/db"
        try rounds.run([
            .init(name: "replicate", share: 0.2, round: replicate),
            .init(name: "replicate continuously", share: 0.1, round: replicateContinuously),
            .init(name: "pull by HTTP", share: 0.1) { _ in try pull(from: url, .longpoll) },
            .init(name: "pull by feed", share: 0.1) { _ in try pull(from: url, .continuous) },
            .init(name: "pull by events", share: 0.1) { _ in try pull(from: url, .eventSource) },
            .init(name: "follow", share: 0.2, round: follow),
            .init(name: "live", share: 0.2, round: live),
            .init(name: "listen", share: 0.1, round: listen),
        ])
        listener.stop()
    }

    // MARK: - Rounds

    private func replicate(_ round: Int) throws {
        try database.update("a") { $0["n"] = Fragment(round) }
        let push = database.makePushReplication(to: target)
        let pull = database.makePullReplication(from: target)
        try wait {
            try await push.run()
            try await pull.run()
        }
    }

    private func replicateContinuously(_ round: Int) throws {
        let (push, pull) = database.sync(with: target)
        let changed = DispatchSemaphore(value: 0)
        let token = try target.addDocumentChangeListener(for: "b\(round)") { _ in changed.signal() }
        try database.save(MutableDocument(id: "b\(round)"))
        changed.wait()
        token.remove()
        try wait {
            await push.stopAndWait()
            await pull.stopAndWait()
        }
    }

    /// A continuous pull over HTTP: a feed of the listener begins and is broken off.
    private func pull(from url: String, _ feed: ChangesFeedMode) throws {
        let pull = target.makePullReplication(from: url) { settings in
            settings.isContinuous = true
            settings.changesFeed = feed
        }
        let id = UUID().uuidString
        let arrived = DispatchSemaphore(value: 0)
        let token = try target.addDocumentChangeListener(for: DocumentID(id)) { _ in
            arrived.signal()
        }
        pull.start()
        try database.save(MutableDocument(id: DocumentID(id)))
        arrived.wait()
        token.remove()
        try wait { await pull.stopAndWait() }
    }

    private func follow(_ round: Int) throws {
        let database = database
        let told = DispatchSemaphore(value: 0)
        let token = try database.addChangeListener { _ in told.signal() }
        let following = Task {
            for try await batch in database.changeStream() where batch.lastSequence > 0 { break }
            for await _ in try database.documentChanges(of: "f") { break }
            told.signal()
        }
        try database.update("a") { $0["follow"] = Fragment(round) }
        told.wait()
        following.cancel()
        _ = try? wait { try await following.value }
        token.remove()
        _ = try database["live\(round)"].putProperties(["n": 1])
    }

    private func live(_ round: Int) throws {
        let view = database.view(named: "by n")
        view.setMap(version: "1") { document, emit in emit(document["n"], nil) }
        let told = DispatchSemaphore(value: 0)
        let token = view.query().addChangeListener(interval: .zero) { _ in told.signal() }
        told.wait()
        try database.update("a") { $0["n"] = Fragment(-round) }
        told.wait()
        token.remove()
        let find = try database.find(selector: ["n": ["$gt": 0]]).live(interval: .zero)
        try wait { for try await _ in find { break } }
        find.stop()
    }

    private func listen(_ round: Int) throws {
        let listener = try makeListener()
        let pull = target.makePullReplication(
            from: "http://127.0.0.1:\(listener.port ?? 0)/db")
        try wait { try await pull.run() }
        listener.stop()
    }

    // MARK: - Helpers

    private func makeListener() throws -> Listener {
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        let listener = Listener(manager, options)
        try listener.start()
        return listener
    }

    /// Runs work of a task and waits for it.
    private func wait(_ body: @escaping @Sendable () async throws -> Void) throws {
        let failure = Failure()
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do { try await body() } catch { failure.error.withLock { $0 = error } }
            done.signal()
        }
        done.wait()
        if let error = failure.error.withLock({ $0 }) { throw error }
    }

    private final class Failure: Sendable {
        let error = Mutex<(any Error)?>(nil)
    }
}
