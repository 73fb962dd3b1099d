// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanConsole
internal import DivanHTTP
internal import DivanListener
internal import DivanSystem
internal import FoundationEssentials

extension Command {
    /// `divan open`: the console on a database, in a browser.
    static let open = Command(
        CommandSchema(
            name: "open",
            summary: "Open a database, or the databases of a directory, in a browser.",
            discussion: """
                A private listener serves the console on a free port of this machine until Control-C. Only the browser that is \
                opened gets in: the address that it is given has a key of this run. Where no browser can be started, or with \
                --no-browser, the address is printed, to be opened by hand.
                BROWSER names the program that opens an address, in place of xdg-open.
                """,
            arguments: [
                ArgumentSchema(
                    name: "PATH", summary: "A database, or a directory that holds databases.",
                    completion: .file)
            ],
            options: [
                .flag("no-browser", nil, "Print the address, and start no browser."),
                .flag("read-only", nil, "Refuse every change."),
            ] + KeySource.options + JavaScriptOptions.serving,
            examples: [
                "divan open notes.divan", "divan open data --read-only",
                "divan open secret.divan --encryption-password prompt",
            ]),
        waiting: runOpen)

    private static func runOpen(_ invocation: Invocation) async throws {
        let place = try OpenedPlace(Invocation.location(invocation.arguments.argument("PATH")))
        var managerOptions = ManagerOptions()
        managerOptions.readOnly = invocation.arguments.flag("read-only")
        managerOptions.databaseOptions.encryptionKey = try KeySource.key(
            invocation.arguments, invocation.environment, invocation.interruption)
        let manager = try Manager(directory: place.directory, options: managerOptions)
        defer { manager.close() }
        if let name = place.database {
            // A wrong key is told of here rather than in the browser.
            _ = try manager.existingDatabase(named: name)
        }
        let key = RandomBytes.make(24).map { String($0, radix: 16) }.joined()
        var options = ListenerOptions()
        options.host = host
        options.access = .users([owner: key])
        options.readOnly = managerOptions.readOnly
        options.fixesConfiguration = true
        options.console = .divan
        options.opensByKey = true
        options.scripts = try JavaScriptOptions.servingRuntimes(invocation)
        let listener = Listener(manager, options)
        try listener.start()
        defer { listener.stop() }
        guard let url = listener.urls.first?.absoluteString else { return }
        let address = "\(url)_utils/\(place.hash)?\(owner)=\(key)"
        try await show(address, invocation)
    }

    /// The user that is signed in by the address.
    private static let owner = "owner"

    /// Browsers keep cookies by host and not by port, so each run has a host of its own where the whole of 127.0.0.0/8 is
    /// this machine: the sessions of two do not end each other.
    private static var host: String {
        #if os(Linux)
        let numbers = RandomBytes.make(3).map { $0 % 254 + 1 }
        return "127.\(numbers[0]).\(numbers[1]).\(numbers[2])"
        #else
        return "127.0.0.1"
        #endif
    }

    /// Opens the address, and waits for Control-C.
    private static func show(_ address: String, _ invocation: Invocation) async throws {
        let (events, continuation) = AsyncStream.makeStream(of: Void.self)
        invocation.interruption.listenToTermination()
        invocation.interruption.onRequest { continuation.finish() }
        var page: String?
        defer { if let page { Files.removeFile(page) } }
        if !invocation.arguments.flag("no-browser") {
            page = try write(address, invocation)
        }
        if let page, isStarted(invocation, on: page) {
            invocation.output.remark("The console is open in your browser. Control-C ends it.")
        } else {
            try invocation.output.line(address)
            try invocation.output.out.flush()
        }
        for await _ in events {}
    }

    /// Writes a page that leads to an address and that only this user can read: what a program is started with, every user of
    /// the machine sees.
    private static func write(_ address: String, _ invocation: Invocation) throws -> String {
        let directory = invocation.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        let page = """
            <!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
            <meta http-equiv="refresh" content="0; url=\(address)"><title>Divan</title>

            """
        do {
            let (descriptor, path) = try Descriptors.openTemporaryFile(
                prefix: directory + "/divan-", suffix: ".html")
            defer { Descriptors.close(descriptor) }
            try Descriptors.writeAll(Array(page.utf8).span, to: descriptor)
            return path
        } catch {
            throw CommandFailure(.failure, "No file can be made in \(directory): \(error.reason).")
        }
    }

    private static func isStarted(_ invocation: Invocation, on page: String) -> Bool {
        #if os(Linux)
        let usual = "xdg-open"
        #else
        let usual = "open"
        #endif
        let browser = invocation.environment["BROWSER"].flatMap { $0.isEmpty ? nil : $0 } ?? usual
        // The browser goes on when the shell has ended. The variable may hold options: the shell takes it apart.
        let program = browser.prefix { $0 != " " }
        let command =
            "command -v \(program) >/dev/null || exit 127; \(browser) \"$1\" >/dev/null 2>&1 &"
        return (try? Shell.run(command, argument: page)) == 0
    }
}

/// What `divan open` is given: a directory of databases, or one of them.
private struct OpenedPlace {
    let directory: URL
    /// The name of the database that is shown first; nil for all.
    let database: String?
    /// The part of the console's address that shows it.
    let hash: String

    init(_ path: String) throws {
        let url = URL(filePath: path)
        guard let name = Manager.databaseName(ofDirectory: url.lastPathComponent) else {
            guard Files.isDirectory(path) else {
                throw CommandFailure(
                    .notFound, "There is no database and no directory at \(Invocation.shown(path))."
                )
            }
            (directory, database, hash) = (url, nil, "#/")
            return
        }
        guard Files.isDirectory(path) else {
            throw Invocation.noDatabase(at: path)
        }
        directory = url.deletingLastPathComponent()
        database = name
        hash = "#/db/\(PercentEncoding.encode(name))/docs"
    }
}
