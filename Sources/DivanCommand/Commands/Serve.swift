// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanListener
internal import FoundationEssentials

extension ArgumentSchema {
    /// A directory that holds databases.
    static let directory = ArgumentSchema(
        name: "DIR", summary: "Directory that holds the databases; it is made when missing.",
        completion: .file)
}

extension Command {
    /// `divan serve`: databases over HTTP.
    static let serve = Command(
        CommandSchema(
            name: "serve",
            summary: "Serve the databases of a directory over HTTP, as CouchDB does.",
            discussion: """
                CouchDB, PouchDB, Couchbase Lite 1.x, other Divans and general clients of CouchDB can \
                use and replicate the databases. The users are those of "divan users", and those given \
                with --user, who may do everything. Without any user everybody on this machine, and \
                nobody else, may do everything, if --everybody says so. It ends with Control-C.
                """,
            arguments: [.directory],
            options: [
                .value(
                    "port", "p", "PORT", "Listen on a port, 5984 unless given; 0 for any free one."),
                .value("host", nil, "HOST", "Listen on an address, 127.0.0.1 unless given."),
                .value(
                    "user", "u", "NAME:PASSWORD", "Let a user in who may do everything.",
                    repeats: true),
                .flag("everybody", nil, "Let everybody on this machine in."),
                .value(
                    "realm", nil, "TEXT",
                    "What clients are told when they are asked for a password."),
                .flag("read-only", nil, "Refuse every change."),
                .flag("tls", nil, "Serve HTTPS with a certificate of its own, kept in DIR."),
                .value(
                    "certificate", nil, "FILE", "Serve HTTPS with this PEM certificate.",
                    completion: .file),
                .value("key", nil, "FILE", "The PEM key of the certificate.", completion: .file),
                .value(
                    "encryption-key", nil, KeySource.valueName,
                    "The databases are encrypted: get their key from \(KeySource.forms)."),
                .value(
                    "encryption-password", nil, KeySource.valueName, "The same for a password."),
                .value(
                    "cors", nil, "ORIGIN",
                    "Let pages of an origin use it from a browser; * for all.",
                    repeats: true),
            ],
            examples: [
                "divan serve data --everybody",
                "divan serve data --host 0.0.0.0 --tls --user ann:secret",
            ]),
        waiting: runServe)

    private static func runServe(_ invocation: Invocation) async throws {
        let directory = URL(filePath: try invocation.arguments.argument("DIR"))
        let options = try ServeOptions.read(invocation.arguments, directory)
        var managerOptions = ManagerOptions()
        managerOptions.readOnly = options.readOnly
        managerOptions.databaseOptions.encryptionKey = try KeySource.key(
            invocation.arguments, invocation.environment)
        let manager = try Manager(directory: directory, options: managerOptions)
        defer { manager.close() }
        let listener = Listener(manager, options)
        try listener.start()
        defer { listener.stop() }
        for url in listener.urls { try invocation.output.line(url.absoluteString) }
        if let fingerprint = listener.fingerprint {
            try invocation.output.line("certificate SHA-256: \(fingerprint)")
        }
        try invocation.output.out.flush()
        // It ends by Control-C only.
        await withCheckedContinuation { continuation in
            invocation.interruption.onRequest { continuation.resume() }
        }
    }

    /// `divan users`: who gets in.
    static let users = Command(
        CommandSchema(
            name: "users",
            summary: "List, add and remove the users of a directory's listeners.",
            discussion: """
                Without an option the users are listed with their roles. A password is read from the \
                environment variable DIVAN_PASSWORD, and only a salted hash of it is kept. A listener \
                that runs follows at once.
                """,
            arguments: [.directory],
            options: [
                .value("add", nil, "NAME", "Add a user, or give one a new password and roles."),
                .value("remove", nil, "NAME", "Remove a user."),
                .value("role", nil, "ROLE", "A role of the user that is added.", repeats: true),
                .flag("admin", nil, "Let the user that is added do everything."),
                .flag("json", nil, "Print JSON objects."),
            ],
            examples: [
                "divan users data", "DIVAN_PASSWORD=secret divan users data --add ann --admin",
                "divan users data --remove ann",
            ])
    ) { invocation in
        let arguments = invocation.arguments
        let directory = URL(filePath: try arguments.argument("DIR"))
        _ = try Manager(directory: directory)
        let users = ListenerUsers(directory: directory.path(percentEncoded: false))
        switch (arguments.string("add"), arguments.string("remove")) {
        case (_?, _?): throw UsageError("--add and --remove do not go together.")
        case (let name?, nil):
            guard let password = invocation.environment["DIVAN_PASSWORD"], !password.isEmpty else {
                throw UsageError("--add takes the password from DIVAN_PASSWORD; set it.")
            }
            var roles = Set(arguments.strings("role"))
            if arguments.flag("admin") { roles.insert(ListenerUser.adminRole) }
            try users.set(name, password: password, roles: roles)
        case (nil, let name?):
            guard try users.remove(name) else {
                throw CommandFailure(.notFound, "There is no user \"\(name)\".")
            }
        case (nil, nil):
            for (name, roles) in try users.all() {
                if arguments.flag("json") {
                    let roles = JSONValue.array(roles.map { .string($0) })
                    try invocation.output.line(
                        JSONValue.object(["name": .string(name), "roles": roles]).description)
                } else {
                    let words = roles.isEmpty ? "" : "  " + roles.joined(separator: " ")
                    try invocation.output.line(PrintableText.escaping(name) + words)
                }
            }
        }
    }
}

/// The options of a listener as `divan serve` is given them.
enum ServeOptions {
    static func read(_ arguments: ParsedArguments, _ directory: URL) throws -> ListenerOptions {
        var options = ListenerOptions()
        options.port = 5_984
        if let port = try arguments.count("port") {
            guard let number = UInt16(exactly: port) else {
                throw UsageError("--port takes a number up to 65535.")
            }
            options.port = number
        }
        if let host = arguments.string("host") { options.host = host }
        if let realm = arguments.string("realm") {
            guard realm.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C && $0 != 0x7F })
            else {
                throw UsageError("--realm takes a text without quotation marks and backslashes.")
            }
            options.realm = realm
        }
        options.readOnly = arguments.flag("read-only")
        options.access = try access(arguments, directory)
        let origins = arguments.strings("cors")
        if !origins.isEmpty {
            options.cors = ListenerCORS(origins: Set(origins))
            options.cors?.credentials = !origins.contains("*")
        }
        options.tls = try tls(arguments, directory, options.host)
        return options
    }

    private static func access(_ arguments: ParsedArguments, _ directory: URL) throws
        -> ListenerAccess
    {
        var users: [String: String] = [:]
        for user in arguments.strings("user") {
            guard let colon = user.firstIndex(of: ":"), colon != user.startIndex else {
                throw UsageError("--user takes NAME:PASSWORD.")
            }
            users[String(user[..<colon])] = String(user[user.index(after: colon)...])
        }
        if arguments.flag("everybody") {
            guard users.isEmpty else {
                throw UsageError("--everybody and --user do not go together.")
            }
            return .everybodyOnLoopback
        }
        let path = directory.path(percentEncoded: false)
        let isKnown = Files.exists(path + "/listener.json")
        if users.isEmpty, try !isKnown || ListenerUsers(directory: path).all().isEmpty {
            throw UsageError(
                "Nobody could get in: give --user NAME:PASSWORD, add one with \"divan users\", or let "
                    + "everybody on this machine in with --everybody.")
        }
        return .users(users)
    }

    private static func tls(_ arguments: ParsedArguments, _ directory: URL, _ host: String) throws
        -> ListenerTLS?
    {
        switch (arguments.string("certificate"), arguments.string("key")) {
        case (let certificate?, let key?):
            return try ListenerTLS(
                keyFile: URL(filePath: key), certificateFile: URL(filePath: certificate))
        case (nil, nil):
            guard arguments.flag("tls") else { return nil }
            // The identity lies beside the databases, which are made with the directory.
            _ = try Manager(directory: directory)
            let hosts = ["127.0.0.1", "0.0.0.0", "::", "localhost"].contains(host) ? [] : [host]
            return try .selfSigned(
                keptAt: directory.appending(path: "listener.pem"), hosts: hosts)
        default: throw UsageError("--certificate and --key go together.")
        }
    }

    private enum Files {
        static func exists(_ path: String) -> Bool {
            FileManager.default.fileExists(atPath: path)
        }
    }
}
