// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanJSON
internal import DivanModel

/// Carries the engine's actions out: each becomes one event, or throws.
package struct ReplicationWorker: Sendable {
    /// Where documents come from.
    package let source: any ReplicationPeer
    /// Where they go to.
    package let target: any ReplicationPeer
    /// Saves checkpoints.
    package let keeper: CheckpointKeeper
    /// Changes the properties of each document on its way.
    package var transformer: (@Sendable (JSONObject) throws -> JSONObject)?

    /// Takes what the target has, to be purged at the source; nil where everything is kept.
    var pushed: PushedRevisions?
    /// Counts what cannot be fetched; nil where nothing outlives the run.
    var failedFetches: FailedFetches?
    /// Takes revisions over which the target fails each time; nil where that has no end.
    package var repeatedFailures: RepeatedFailures?
    /// What other pulls into the target fetch at the same time; nil where there are none.
    var arriving: ArrivingRevisions?
    /// Whether the target is taken to have nothing of what is offered, and is not asked.
    package var assumesAllNew = false

    /// Makes a worker.
    package init(
        source: any ReplicationPeer, target: any ReplicationPeer, keeper: CheckpointKeeper
    ) {
        self.source = source
        self.target = target
        self.keeper = keeper
    }

    /// Does what an action says.
    ///
    /// - Returns: What came of it; nil for the end, which is not for a worker.
    /// - Throws: `ReplicationError` when a whole request failed; the engine is then of no more use.
    package func perform(_ action: ReplicationEngine.Action) async throws -> ReplicationEngine
        .Event?
    {
        do {
            switch action {
            case .readChanges(let request):
                let page = try await source.changes(request)
                keeper.postponed.take(page.changes)
                return .page(page)
            case .findMissing(let unit, let changes):
                return .missing(unit: unit, try await missing(of: changes))
            case .fetch(let number, let wanted):
                return .fetched(number, settled(try await fetch(wanted)))
            case .store(let number, let documents):
                defer { arriving?.release(documents) }
                let outcomes = settled(try await put(documents), documents)
                pushed?.note(documents, outcomes)
                return .stored(number, outcomes)
            case .saveCheckpoint(let sequence, let counts):
                try await finish()
                try await keeper.save(sequence, counts)
                return .checkpointSaved(sequence)
            case .finish: return nil
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch { throw ReplicationError(error) }
    }

    /// Purges at the source what is to be purged. A checkpoint comes after it, and a run ends with it.
    func finish() async throws {
        guard let pushed else { return }
        try await keeper.look()
        try await pushed.purge(after: target)
    }

    /// Stores documents, once more where their failure is to be their last one.
    private func put(_ documents: [WireDocument]) async throws -> [PutOutcome] {
        let outcomes = again(try await target.put(documents), documents)
        guard let repeatedFailures else { return outcomes }
        guard repeatedFailures.needProof(documents, outcomes) else {
            return repeatedFailures.judge(documents, outcomes)
        }
        try await keeper.prove()
        return repeatedFailures.judge(documents, again(try await target.put(documents), documents))
    }

    private func fetch(_ wanted: [MissingRevisions]) async throws -> [FetchedRevision] {
        guard let arriving else { return try await source.revisions(wanted) }
        return try await arriving.fetch(wanted, for: target) { try await source.revisions($0) }
    }

    private func missing(of changes: [PeerChange]) async throws -> [MissingRevisions] {
        guard !assumesAllNew else {
            return changes.map { MissingRevisions(id: $0.id, revisions: $0.revisions) }
        }
        let missing = try await target.missingRevisions(of: changes)
        pushed?.note(changes, lacking: missing)
        keeper.postponed.take(changes, lacking: missing)
        return missing
    }

    /// Lets the app change the properties of what was fetched.
    func transformed(_ fetched: [FetchedRevision]) -> [FetchedRevision] {
        guard let transformer else { return fetched }
        return fetched.map { one in
            guard case .document(var document) = one.outcome else { return one }
            var one = one
            do {
                document.body = try Self.transformed(document, one, by: transformer)
                one.outcome = .document(document)
            } catch {
                var failure = ReplicationError(error)
                failure.documentID = one.id
                // What the app's function needs may be there another time.
                one.outcome = .failed(failure.postponed)
            }
            return one
        }
    }

    /// The new body: the app sees `_id` and `_rev` besides, and cannot change what is the protocol's.
    private static func transformed(
        _ document: WireDocument, _ fetched: FetchedRevision,
        by transformer: @Sendable (JSONObject) throws -> JSONObject
    ) throws -> PackedValue {
        guard case .object(var properties) = document.body.jsonValue() else { return document.body }
        let reserved = document.body.reservedKeys
        var given = properties
        given["_id"] = .string(fetched.id.text)
        given["_rev"] = .string(fetched.revision.description)
        if document.isDeleted { given["_deleted"] = true }
        let changed = try transformer(given)
        let kept = reserved.compactMap { key in properties[key].map { (key, $0) } }
        properties = [:]
        for (key, value) in changed where !key.hasBytePrefix("_") { properties[key] = value }
        for (key, value) in kept { properties[key] = value }
        guard JSONValue.object(properties).isNested(atMost: JSONValue.maximumDepth) else {
            throw ReplicationError(
                .rejected, "The transformed document '\(fetched.id)' nests too deep.",
                documentID: fetched.id)
        }
        return PackedValue(.object(properties))
    }
}
