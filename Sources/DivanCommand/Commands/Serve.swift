// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
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
                with --user, who may do everything. With --everybody there are no users: all \
                programs on this machine, and no others, may do everything.
                It ends with Control-C or SIGTERM when the requests that have come are answered, for which they have 20 \
                seconds; a second signal ends it at once. With SIGHUP it reads the file of --options, certificates \
                and keys again, and goes on by them if they are right; clients keep their connections. A service manager such \
                as systemd is told when it serves, and may hand over the socket, which goes before --host and --port.
                With --token-key users may show bearer tokens instead: JSON Web Tokens with HS256, whose \
                key of 32 bytes or more the issuer has, too. With --proxy-secret a proxy in front says who \
                its clients are, by X-Auth-CouchDB-UserName, -Roles and -Token. With --client-ca clients \
                show certificates, whose common names are the users' names. A line's end after a key or \
                secret is no part of it.
                With --peers the devices that are paired with this one may use what they share with it; \
                with --nearby it also pulls from them what they share, as "divan nearby" does. --qr shows a link that pairs \
                another one, as the console does. All three mean --tls, and all addresses unless --host is given.
                At /_utils/ it serves the console, a web application that shows, searches, mends and syncs databases in a \
                browser; --no-console leaves it out.
                With --hub it is an edge of another server, a CouchDB or a Divan: it keeps the databases that --databases and \
                --per-user name in step with those of the hub, by documents hub-pull-NAME and hub-push-NAME of \
                _replicator, makes what is missing on either side, and goes on when the network comes back. "divan edge \
                status" shows how that is doing.
                The JavaScript functions of design documents run, each in a process that has no files, no \
                network and no other processes: views, filters, validations and all others. It needs the \
                program divan-javascript beside divan, and JavaScriptCore, Debian's package \
                libjavascriptcoregtk-4.1-0 (with --javascript-engine duktape: libduktape207). Without them divan \
                serves all the rest, and says so; with --javascript on it ends.
                """,
            arguments: [.directory],
            options: ServeOptions.schema + JavaScriptOptions.serving + PeerLinkOutput.options,
            examples: [
                "divan serve data --everybody",
                "divan serve data --host 0.0.0.0 --tls --user ann:secret",
                "divan serve data --token-key file:issuer.key",
                "divan serve data --qr notes",
                "divan serve data --user ann:secret --javascript on --javascript-time 10",
                "divan serve data --options serve.conf",
                "divan serve data --user ann:secret --hub https://hub.example.org:6984 --hub-user shop-7"
                    + " --hub-password file:hub.key --databases orders --databases 'readings-*'",
            ]),
        waiting: runServe)

    private static func runServe(_ invocation: Invocation) async throws {
        try await Service(invocation, serve.schema).run()
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
