// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
internal import DivanListener
internal import DivanPeers
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
                with --user, who may do everything. With --everybody there are no users: all \
                programs on this machine, and no others, may do everything. It ends with Control-C or SIGTERM.
                With --token-key users may show bearer tokens instead: JSON Web Tokens with HS256, whose \
                key of 32 bytes or more the issuer has, too. With --proxy-secret a proxy in front says who \
                its clients are, by X-Auth-CouchDB-UserName, -Roles and -Token. With --client-ca clients \
                show certificates, whose common names are the users' names. A line's end after a key or \
                secret is no part of it.
                With --peers the devices that are paired with this one may use what they share with it; \
                --qr shows a link that pairs another one. Both mean --tls, and all addresses unless --host is given.
                """,
            arguments: [.directory],
            options: ServeOptions.schema + PeerLinkOutput.options,
            examples: [
                "divan serve data --everybody",
                "divan serve data --host 0.0.0.0 --tls --user ann:secret",
                "divan serve data --token-key file:issuer.key",
                "divan serve data --qr notes",
            ]),
        waiting: runServe)

    private static func runServe(_ invocation: Invocation) async throws {
        let directory = URL(filePath: try invocation.arguments.argument("DIR"))
        let showsLink = try PeerLinkOutput.isAskedFor(invocation.arguments)
        var options = try ServeOptions.read(invocation, directory)
        var managerOptions = ManagerOptions()
        managerOptions.readOnly = options.readOnly
        managerOptions.databaseOptions.encryptionKey = try KeySource.key(
            invocation.arguments, invocation.environment)
        let manager = try Manager(directory: directory, options: managerOptions)
        defer { manager.close() }
        if showsLink || invocation.arguments.flag("peers") {
            options.device = try PeerDevice(manager, name: invocation.arguments.string("name"))
        }
        let listener = Listener(manager, options)
        // It ends by Control-C, or as a service is told to end; also when that comes while it starts.
        invocation.interruption.listenToTermination()
        try listener.start()
        defer { listener.stop() }
        for url in listener.urls { try invocation.output.line(url.absoluteString) }
        if let fingerprint = listener.fingerprint {
            try invocation.output.line("certificate SHA-256: \(fingerprint)")
        }
        if showsLink { try PeerLinkOutput.show(invocation, listener) }
        try invocation.output.out.flush()
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
            var roles = NameSet(arguments.strings("role"))
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
