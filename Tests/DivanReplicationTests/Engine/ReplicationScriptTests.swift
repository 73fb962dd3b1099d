// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Testing

@Suite struct ReplicationScriptTests {
    @Test(arguments: GoldenScript.all(in: "replication"))
    func `the engine does what its scripts say`(script: GoldenScript) throws {
        try script.run(with: EngineInterpreter())
    }
}

/// The commands of `Tests/Scripts/replication`.
///
/// Each is an event, and prints the actions that the engine answers with, and what it reports to the app. A revision is
/// written `a:2-b`; what becomes of it follows: `a:2-b!gone`, and its attachments: `a:2-b+photo`, or `a:2-b+photo?`
/// without their content.
private struct EngineInterpreter: ScriptInterpreter {
    private var engine = ReplicationEngine(since: nil, isContinuous: false)
    private var options: [String: String] = [:]
    private var saved: RemoteSequence?

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        let actions: [ReplicationEngine.Action]
        switch command.name {
        case "start":
            options = command.options
            saved = Self.sequence(options["since"])
            actions = start()
        case "lost": actions = start()
        default: actions = engine.handle(try event(command))
        }
        engine.checkInvariants()
        return actions.map(Self.text) + engine.takeReports().map(Self.text)
    }

    /// A new engine, which goes on after the last checkpoint.
    private mutating func start() -> [ReplicationEngine.Action] {
        var limits = ReplicationEngine.Limits()
        limits.page = options["page"].flatMap { Int($0) } ?? 100
        limits.revisionsPerFetch = options["fetch"].flatMap { Int($0) } ?? 100
        engine = ReplicationEngine(
            since: saved, isContinuous: options["continuous"] == "yes", limits: limits)
        return engine.start()
    }

    // MARK: - Events

    private mutating func event(_ command: ScriptCommand) throws -> ReplicationEngine.Event {
        let words = command.arguments
        let number = words.first.flatMap { Int($0) }
        switch (command.name, number) {
        case ("page", _):
            guard let last = Self.sequence(command.options["last"]) else {
                throw ScriptCommand.Unknown(command)
            }
            let documents = try Self.documents(words)
            return .page(
                ChangesPage(
                    changes: documents.map { PeerChange(id: $0.id, revisions: $0.revisions) },
                    lastSequence: last, isAtEnd: command.options["end"] == "yes"))
        case ("missing", let unit?):
            let documents = try Self.documents(Array(words.dropFirst()))
            return .missing(
                unit: unit,
                documents.map { MissingRevisions(id: $0.id, revisions: $0.revisions) })
        case ("fetched", let fetch?):
            return .fetched(fetch, try words.dropFirst().map(Self.fetched))
        case ("stored", let store?):
            return .stored(store, try words.dropFirst().map { try Self.outcome($0, command) })
        case ("saved", _):
            guard let sequence = Self.sequence(words.first) else {
                throw ScriptCommand.Unknown(command)
            }
            saved = sequence
            return .checkpointSaved(sequence)
        case ("timer", _): return .timer
        case ("stop", _): return .stop
        default: throw ScriptCommand.Unknown(command)
        }
    }

    private static func sequence(_ word: String?) -> RemoteSequence? {
        word.flatMap { SequenceNumber($0) }.map { RemoteSequence($0) }
    }

    /// `a:1-a b:2-b,2-c`: two documents.
    private static func documents(_ words: [String]) throws
        -> [(id: DocumentID, revisions: [RevisionID])]
    {
        try words.map { word in
            let parts = word.split(separator: ":").map(String.init)
            let revisions = try parts[1].split(separator: ",").map {
                try RevisionID(validating: String($0))
            }
            return (try DocumentID(validating: parts[0]), revisions)
        }
    }

    private static func fetched(_ word: String) throws -> FetchedRevision {
        let ending = word.split(separator: "!").map(String.init)
        let parts = ending[0].split(separator: "+").map(String.init)
        let (id, revisions) = try documents([parts[0]])[0]
        if ending.count > 1 {
            return FetchedRevision(
                id: id, revision: revisions[0],
                ending[1] == "gone" ? .gone : .failed(failure(isTransient: ending[1] == "failed")))
        }
        var contents: NameMap<AttachmentContent> = [:]
        var stubs: JSONObject = [:]
        for name in parts.dropFirst() {
            let plain = name.split(separator: "?").joined()
            stubs[plain] = ["stub": true]
            if plain == name { contents[plain] = .bytes(Array("content".utf8)) }
        }
        let body: JSONObject = stubs.isEmpty ? [:] : ["_attachments": .object(stubs)]
        return FetchedRevision(
            id: id, revision: revisions[0],
            .document(
                WireDocument(
                    id: id, history: try RevisionHistory([revisions[0]]), isDeleted: false,
                    body: PackedValue(.object(body)), contents: contents)))
    }

    private static func outcome(_ word: String, _ command: ScriptCommand) throws -> PutOutcome {
        switch word {
        case "stored": .stored
        case "incomplete": .needsAttachments
        case "failed": .failed(failure(isTransient: true))
        case "refused": .failed(failure(isTransient: false))
        default: throw ScriptCommand.Unknown(command)
        }
    }

    private static func failure(isTransient: Bool) -> ReplicationError {
        ReplicationError(
            isTransient ? .server : .forbidden, isTransient ? "It is ill." : "It says no.",
            isTransient: isTransient)
    }

    // MARK: - Actions

    private static func text(_ action: ReplicationEngine.Action) -> String {
        switch action {
        case .readChanges(let request):
            let place = request.since.map { "after \($0.text)" } ?? "from the beginning"
            let waiting = request.waits ? ", waiting" : ""
            return "read \(request.limit) changes \(place)\(waiting)"
        case .findMissing(let unit, let changes):
            return "unit \(unit): what is missing of \(list(changes.map { ($0.id, $0.revisions) }))"
        case .fetch(let number, let wanted):
            return "fetch \(number): \(list(wanted.map { ($0.id, $0.revisions) }))"
        case .store(let number, let documents):
            return "store \(number): \(documents.map(text).joined(separator: " "))"
        case .saveCheckpoint(let sequence, let counts):
            return
                "save \(sequence.text): \(counts.checked) checked, \(counts.found) missing, "
                + "\(counts.read) read, \(counts.written) written, \(counts.failed) refused"
        case .finish(let failure):
            return failure.map { "end, to be tried again: \($0.message)" } ?? "end"
        }
    }

    private static func list(_ documents: [(id: DocumentID, revisions: [RevisionID])]) -> String {
        documents.map { document in
            "\(document.id):" + document.revisions.map(\.description).joined(separator: ",")
        }.joined(separator: " ")
    }

    private static func text(_ document: WireDocument) -> String {
        let revision = document.revision?.description ?? "?"
        let names = document.body["_attachments"]?.keys ?? []
        let attachments = names.map { name in
            "+" + name + (document.inlineContents[name] == nil ? "?" : "")
        }
        return "\(document.id?.text ?? "?"):\(revision)" + attachments.joined()
    }

    private static func text(_ report: ReplicationEngine.Report) -> String {
        let revision = report.revision?.description ?? "?"
        let outcome = report.error.map { error in
            error.isTransient ? "failed for now: \(error.message)" : "refused: \(error.message)"
        }
        return "told: \(report.id):\(revision) \(outcome ?? "stored")"
    }
}
