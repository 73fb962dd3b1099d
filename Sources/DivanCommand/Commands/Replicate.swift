// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanHTTP
internal import DivanJSON
internal import DivanReplication
internal import FoundationEssentials

extension Command {
    /// `divan replicate`: changes from one database to another.
    static let replicate = Command(
        CommandSchema(
            name: "replicate",
            summary: "Bring a database's changes to another one, here or behind a URL.",
            discussion: """
                SOURCE and TARGET are databases here or URLs such as http://host:5984/notes, at least \
                one of them here. A second run goes on where the first one was. A target here is made \
                when it is missing; one behind a URL with --create-target. Documents that the target \
                refuses are listed, and the exit code is then 5. Later runs pass them, and their exit code is 0: \
                each is tried again when it changes, and all of them with --reset.
                A server with a certificate of its own making, such as "divan serve --tls", is trusted by \
                --pin with the fingerprint that it prints, or by --trust-first.
                """,
            arguments: [
                ArgumentSchema(
                    name: "SOURCE", summary: "Where documents come from: a database or a URL.",
                    completion: .database),
                ArgumentSchema(
                    name: "TARGET", summary: "Where they go: a database or a URL.",
                    completion: .database),
            ],
            options: ReplicationOptions.schema + [
                .flag("both", "b", "Bring the target's changes to the source, too.")
            ],
            examples: [
                "divan replicate notes.divan http://localhost:5984/notes --create-target",
                "divan replicate https://ann@example.com/notes notes.divan --continuous",
                "divan replicate notes.divan copy.divan --doc n1 --doc n2",
            ]),
        waiting: { invocation in
            try await invocation.replicate(
                try invocation.arguments.argument("SOURCE"),
                try invocation.arguments.argument("TARGET"),
                isBoth: invocation.arguments.flag("both"))
        })

    /// `divan sync`: both ways.
    static let sync = Command(
        CommandSchema(
            name: "sync",
            summary: "Make two databases the same: changes go both ways.",
            discussion: """
                As "divan replicate --both". With --continuous it goes on until Control-C, and tries \
                again by itself whenever the other end cannot be reached.
                """,
            arguments: [
                .database,
                ArgumentSchema(
                    name: "OTHER", summary: "The other database, here or behind a URL.",
                    completion: .database),
            ],
            options: ReplicationOptions.schema,
            examples: [
                "divan sync notes.divan http://localhost:5984/notes --continuous",
                "divan sync notes.divan https://ann@192.168.1.7:6984/notes --trust-first known-hosts",
            ]),
        waiting: { invocation in
            try await invocation.replicate(
                try invocation.arguments.argument("DB"),
                try invocation.arguments.argument("OTHER"), isBoth: true)
        })
}

/// The options that both commands have.
enum ReplicationOptions {
    static let schema: [OptionSchema] =
        [
            .flag("continuous", "c", "Go on as changes come, until Control-C."),
            .value(
                "patience", nil, "SECONDS",
                "Give up when another try would begin later than that after the first failure; 300 is the default."
            ),
            .flag("create-target", nil, "Make the target behind a URL when it is missing."),
            .flag(
                "reset", nil,
                "Begin at the beginning, and try again what was refused; what is there is only compared."
            ),
            .value("filter", nil, "NAME", "Only what a filter of the server lets through."),
            .value(
                "param", nil, "KEY=JSON", "A parameter of the filter; may be given again.",
                repeats: true),
            .value("doc", nil, "ID", "Only this document; may be given again.", repeats: true),
            .value("channel", nil, "NAME", "Only a channel of a Sync Gateway.", repeats: true),
            .value("header", nil, "NAME: VALUE", "A field for each HTTP request.", repeats: true),
        ] + trust

    /// How a server behind https:// is trusted.
    static let trust: [OptionSchema] = [
        .value(
            "pin", nil, "SHA256",
            "Trust the server whose certificate has this fingerprint, and no other; may be given again.",
            repeats: true),
        .value(
            "ca", nil, "FILE",
            "Trust what the authorities of this PEM file vouch for, and no other.",
            completion: .file),
        .value(
            "trust-first", nil, "FILE",
            "Trust the certificate that the server showed at the first contact, which FILE keeps.",
            completion: .file),
    ]

    static func settings(_ invocation: Invocation) throws -> ReplicationConfiguration {
        let arguments = invocation.arguments
        var settings = ReplicationConfiguration()
        settings.isContinuous = arguments.flag("continuous")
        settings.createTarget = arguments.flag("create-target")
        settings.resetsCheckpoint = arguments.flag("reset")
        if let seconds = try arguments.count("patience") {
            settings.retry.patience = .seconds(seconds)
        }
        settings.filter = arguments.string("filter")
        settings.documentIDs = arguments.strings("doc").map { DocumentID($0) }
        settings.channels = arguments.strings("channel")
        for text in arguments.strings("param") {
            let (key, value) = try JSONInput.assignment(text, option: "param")
            settings.filterParameters[key] = value
        }
        if let problem = FilterParameters.problem(settings.filterParameters) {
            throw UsageError("--param: \(problem)")
        }
        for text in arguments.strings("header") {
            guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else {
                throw UsageError("--header takes NAME: VALUE, such as \"X-Team: 7\".")
            }
            let value = text[text.index(after: colon)...].drop { $0 == " " }
            settings.headers[String(text[..<colon])] = String(value)
        }
        if let trust = try trust(invocation) { settings.trust = trust }
        return settings
    }

    /// Refuses a way to trust servers where there is none, or none over TLS.
    static func check(_ trust: TrustPolicy, between ends: [String]) throws {
        guard trust != .system else { return }
        let urls = ends.filter(ReplicationEnds.isURL)
        guard !urls.isEmpty else {
            throw UsageError("--pin, --ca and --trust-first are for a database behind https://.")
        }
        for url in urls.compactMap({ try? HTTPURL(typed: $0) }) {
            if let problem = trust.problem(for: url) { throw UsageError(problem) }
        }
    }

    /// Which servers to trust; nil when no option says so. What stands before `pin` and `ca` in the names of the options is
    /// `prefix`.
    static func trust(_ invocation: Invocation, prefix: String = "") throws -> TrustPolicy? {
        let arguments = invocation.arguments
        let pins = arguments.strings(prefix + "pin")
        let first = prefix.isEmpty ? arguments.string("trust-first") : nil
        switch (pins.isEmpty, arguments.string(prefix + "ca"), first) {
        case (true, nil, nil): return nil
        case (false, nil, nil): return .fingerprints(pins)
        case (true, let file?, nil):
            let input = try InputSource(path: file, interruption: invocation.interruption)
            return .anchors(pem: String(decoding: try input.readAll(), as: UTF8.self), only: true)
        case (true, nil, let file?):
            return .trustOnFirstUse(keptAt: URL(filePath: file))
        default:
            let others =
                prefix.isEmpty
                ? "--pin, --ca and --trust-first" : "--\(prefix)pin and --\(prefix)ca"
            throw UsageError("\(others) do not go together.")
        }
    }
}

/// The two databases of a replication: the local one, and what is at the other end.
struct ReplicationEnds {
    private let local: Database
    private let remote: ReplicationEndpoint
    /// The databases here.
    private let opened: [OpenedDatabase]
    /// Whether the local one is the source.
    let isPush: Bool

    init(_ invocation: Invocation, _ source: String, _ target: String) throws {
        switch (Self.isURL(source), Self.isURL(target)) {
        case (true, true):
            throw UsageError("One of the two databases must be here: a path, not a URL.")
        case (true, false):
            let target = try invocation.openOrCreateDatabase(at: target)
            (local, remote, isPush) = (target.database, .url(source), false)
            opened = [target]
        case (false, true):
            local = try Self.open(source, invocation)
            (remote, isPush) = (.url(target), true)
            opened = [OpenedDatabase(database: local)]
        case (false, false):
            local = try Self.open(source, invocation)
            let target = try invocation.openOrCreateDatabase(at: target)
            (remote, isPush) = (.database(target.database), true)
            opened = [OpenedDatabase(database: local), target]
        }
    }

    func close() {
        for opened in opened { opened.database.close() }
    }

    func closeAfterFailure() {
        for opened in opened { opened.closeAfterFailure() }
    }

    static func isURL(_ text: String) -> Bool {
        let lower = text.lowercased()
        return lower.hasBytePrefix("http://") || lower.hasBytePrefix("https://")
    }

    private static func open(_ path: String, _ invocation: Invocation) throws -> Database {
        try invocation.openDatabase(at: Invocation.location(path), forWriting: true)
    }

    func replications(isBoth: Bool, _ settings: ReplicationConfiguration) -> [Replication] {
        var settings = settings
        settings.createsSource = isBoth
        let push = local.makePushReplication(to: remote, settings: settings)
        let pull = local.makePullReplication(from: remote, settings: settings)
        return isBoth ? [push, pull] : [isPush ? push : pull]
    }
}

extension Invocation {
    /// Reads the options before a database is made for them, opens both ends, and replicates.
    fileprivate func replicate(_ source: String, _ target: String, isBoth: Bool) async throws {
        let settings = try ReplicationOptions.settings(self)
        try ReplicationOptions.check(settings.trust, between: [source, target])
        let ends = try ReplicationEnds(self, source, target)
        do { try await run(ends, settings, isBoth: isBoth) } catch {
            ends.closeAfterFailure()
            throw error
        }
        ends.close()
    }

    /// Runs one or two replications with a bar, and tells what came of them.
    private func run(_ ends: ReplicationEnds, _ settings: ReplicationConfiguration, isBoth: Bool)
        async throws
    {
        let known = FirstContacts(settings.trust)
        defer { known.tell(output) }
        let replications = ends.replications(isBoth: isBoth, settings)
        let bar = ProgressBar("Replicating", noun: "document", output: output)
        let tally = ReplicationTally(bar)
        var tokens: [ListenerToken] = []
        for (index, replication) in replications.enumerated() {
            tokens.append(replication.addStatusListener { tally.take($0, of: index) })
            tokens.append(replication.addDocumentListener { tally.take($0) })
        }
        interruption.onRequest { for replication in replications { replication.stop() } }
        do { try await Self.runTogether(replications) } catch let error as ReplicationError {
            guard interruption.isRequested else {
                bar.finish()
                throw CommandFailure(ExitCode(error.code), error.message)
            }
        }
        for replication in replications { await replication.listenersCaughtUp() }
        for token in tokens { token.remove() }
        let elapsed = Quantity.fixed(bar.finish().elapsed.inSeconds, 2)
        let summaries = replications.map(\.summary)
        let transferred = summaries.reduce(0) { $0 + $1.transferred }
        let refused = summaries.reduce(0) { $0 + $1.refused }
        output.remark(
            "\(isBoth ? "Synchronised" : "Replicated") \(Quantity.counted(transferred, "document"))"
                + " in \(elapsed) s.")
        if interruption.isRequested, !settings.isContinuous { throw Interruption.failure }
        if refused > 0 {
            throw CommandFailure(
                .problemsFound,
                "\(Quantity.counted(refused, "document")) could not be transferred. Later runs try them again when"
                    + " they change, and all of them with --reset.")
        }
    }

    /// Runs replications side by side. When one fails the others are stopped: one direction alone is not what was
    /// asked for.
    private static func runTogether(_ replications: [Replication]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for replication in replications { group.addTask { try await replication.run() } }
            // Leaving by an error cancels the others.
            for try await _ in group {}
        }
    }
}

/// The servers that a run meets for the first time.
private struct FirstContacts {
    private let file: KnownHosts?
    private let before: Set<KnownHosts.Entry>

    init(_ trust: TrustPolicy) {
        file = if case .firstUse(let file) = trust { file } else { nil }
        before = Set((try? file?.entries()) ?? [])
    }

    /// Says whose certificates were taken as they were, so that people can compare them.
    func tell(_ output: Output) {
        guard let file, let entries = try? file.entries() else { return }
        for entry in entries where !before.contains(entry) {
            output.remark(
                "First contact with \(entry.host): its certificate \(entry.fingerprint) is kept in "
                    + "\(file.path).")
        }
    }
}

extension ExitCode {
    /// What a replication's error means to a shell.
    fileprivate init(_ code: ReplicationError.Code) {
        switch code {
        case .notFound: self = .notFound
        case .invalidSetting, .rejected: self = .badInput
        case .cancelled: self = .interrupted
        default: self = .failure
        }
    }
}
