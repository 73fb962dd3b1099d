// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import Synchronization

/// A server that answers some requests by itself, going by their path and body, and leaves the others to a stand-in.
final class PickyServer: WireConnection {
    typealias Judge = @Sendable (_ path: String, _ body: String) -> (status: Int, body: String)?

    let inner: CouchStandIn
    let judge: Mutex<Judge>
    /// The path of each request, with its method.
    let requests = Mutex<[String]>([])

    var name: String { inner.name }

    init(_ inner: CouchStandIn, _ judge: @escaping Judge = { _, _ in nil }) {
        self.inner = inner
        self.judge = Mutex(judge)
    }

    func count(_ prefix: String) -> Int {
        requests.withLock { $0.filter { $0.utf8.starts(with: prefix.utf8) }.count }
    }

    func respond(to request: WireRequest) async throws -> WireResponse {
        requests.withLock { $0.append("\(request.method) \(request.path)") }
        var body = ""
        switch request.body {
        case .none: break
        case .bytes(let bytes, _): body = text(bytes)
        case .pieces(_, _, let open):
            let pieces = try open()
            while let piece = try await pieces.next() { body += text(piece) }
        }
        if let answer = judge.withLock({ $0 })(request.path, body) {
            return CouchStandIn.answer(answer.status, Array(answer.body.utf8))
        }
        return try await inner.respond(to: request)
    }
}

extension PickyServer {
    /// Runs one push from a database to its end.
    ///
    /// - Returns: What became of the documents.
    func push(from here: Database) async throws -> [ReplicationEngine.Report] {
        let (local, peer) = (LocalPeer(here), HTTPPeer(self, for: here))
        let keeper = CheckpointKeeper(
            ReplicationID(.init(localUUID: here.privateUUID, remoteURL: name, isPush: true)),
            local: local, remote: peer, isPush: true, incarnation: here.testIncarnation)
        let worker = ReplicationWorker(source: local, target: peer, keeper: keeper)
        return try await worker.run(since: try await keeper.load())
    }
}

extension ReplicationWorker {
    /// Runs one replication to its end, step by step.
    ///
    /// - Returns: What became of the documents.
    func run(since start: RemoteSequence?) async throws -> [ReplicationEngine.Report] {
        var engine = ReplicationEngine(since: start, isContinuous: false)
        var open = engine.start()
        while let action = open.popLast() {
            if case .finish(let failure) = action {
                if let failure { throw failure }
                break
            }
            guard let event = try await perform(action) else { continue }
            open = engine.handle(event) + open
        }
        return engine.takeReports()
    }
}
