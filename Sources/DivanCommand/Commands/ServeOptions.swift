// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanConsole
internal import DivanJSON
internal import DivanListener
internal import FoundationEssentials

/// The options of a listener as `divan serve` is given them.
enum ServeOptions {
    static let schema = listening + identification + hub

    private static let listening: [OptionSchema] = [
        OptionsFile.option,
        .value(
            "port", "p", "PORT", "Listen on a port, 5984 unless given; 0 for any free one."),
        .value("host", nil, "HOST", "Listen on an address, 127.0.0.1 unless given."),
        .value(
            "user", "u", "NAME:PASSWORD", "Let a user in who may do everything.",
            repeats: true),
        .flag("everybody", nil, "Let all programs on this machine in, without a user."),
        .value(
            "realm", nil, "TEXT",
            "What clients are told when they are asked for a password."),
        .flag("read-only", nil, "Refuse every change."),
        .flag("no-console", nil, "Serve no console at /_utils/."),
        .flag(
            "no-config", nil,
            "Use these options alone: clients cannot change them by _node/_local/_config."),
        RevisionLimit.option("New databases keep so many revision IDs a branch, not 1000."),
        .flag(
            "number-sequences", nil,
            "Places in changes feeds are numbers, as clients of Couchbase Lite 1.x need them."),
        .value(
            "node-name", nil, "NAME@HOST",
            "The name as a node, for scripts that know a CouchDB by it; nonode@nohost unless given."
        ),
        .flag("peers", nil, "Let the devices in that are paired with this one."),
        .flag(
            "nearby", nil,
            "The same, and pull what they share from those that are on this network."),
        .value("name", nil, "NAME", "What other devices call this one."),
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
        .flag(
            "accept-unrun-validation", nil,
            "Store design documents whose validate_doc_update nothing runs."),
        .value(
            "cors", nil, "ORIGIN",
            "Let pages of an origin use it from a browser, as PouchDB does; * for all, without cookies.",
            repeats: true),
        .flag(
            "cors-credentials", nil,
            "With --cors '*': let every page act as the user at the browser, which PouchDB asks for."
        ),
        .value(
            "trusted-proxy", nil, "ADDRESS",
            "Bound the connections of this address as all together, not as those of one client.",
            repeats: true),
        .value(
            "memory", nil, "MEGABYTES",
            "The bodies of all requests together may take so much memory: half of the machine's, at most 1024."
        ),
    ]

    static func read(_ invocation: Invocation, _ directory: URL) throws -> ListenerOptions {
        let arguments = invocation.arguments
        var options = ListenerOptions()
        options.port = 5_984
        if let port = try arguments.count("port") {
            guard let number = UInt16(exactly: port) else {
                throw UsageError("--port takes a number up to 65535.")
            }
            options.port = number
        }
        let servesPeers = PeerLinkOutput.servesPeers(arguments)
        guard servesPeers || arguments.string("name") == nil else {
            throw UsageError("--name goes with --peers, --nearby or --qr DATABASE.")
        }
        if servesPeers {
            guard !arguments.flag("certificate") else {
                throw UsageError(
                    "Devices know each other by their own keys: leave out --certificate with --peers, --nearby or --qr."
                )
            }
            guard !arguments.flag("nearby") || !arguments.flag("read-only") else {
                throw UsageError("--nearby writes what it pulls; leave out --read-only.")
            }
            options.host = "0.0.0.0"
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
        options.fixesConfiguration = arguments.flag("no-config")
        options.console = arguments.flag("no-console") ? nil : .divan
        options.acceptsUnrunValidation = arguments.flag("accept-unrun-validation")
        options.revisionLimit = try RevisionLimit.read(arguments)
        options.numberSequences = arguments.flag("number-sequences")
        if let name = arguments.string("node-name") { options.nodeName = try nodeName(name) }
        options.access = try access(arguments, directory)
        try identify(invocation, &options)
        let origins = arguments.strings("cors")
        if !origins.isEmpty {
            options.cors = ListenerCORS(origins: NameSet(origins))
            options.cors?.credentials =
                arguments.flag("cors-credentials") || !origins.contains("*")
        } else if arguments.flag("cors-credentials") {
            throw UsageError("--cors-credentials goes with --cors ORIGIN.")
        }
        options.limits.trustedProxies = NameSet(arguments.strings("trusted-proxy"))
        if let megabytes = try arguments.count("memory") {
            guard (1...1 << 20).contains(megabytes) else {
                throw UsageError("--memory takes megabytes, from 1 to 1048576.")
            }
            options.limits.memory = megabytes << 20
        }
        options.tls = try tls(arguments, directory, options.host)
        options.hub = try hub(invocation)
        return options
    }

    /// A name that stands in a path and in JSON as it is.
    private static func nodeName(_ text: String) throws -> String {
        let bytes = text.utf8
        let isPlain = bytes.allSatisfy {
            (0x21...0x7E).contains($0) && !"/?#%\"\\".utf8.contains($0)
        }
        let parts = bytes.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard isPlain, bytes.count < 256, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
            throw UsageError("--node-name takes NAME@HOST, such as couchdb@127.0.0.1.")
        }
        return text
    }

    private static func access(_ arguments: ParsedArguments, _ directory: URL) throws
        -> ListenerAccess
    {
        var users: NameMap<String> = [:]
        for user in arguments.strings("user") {
            // By bytes: a mark that combines with the colon belongs to the password.
            guard let colon = user.utf8.firstIndex(of: UInt8(ascii: ":")), colon != user.startIndex
            else { throw UsageError("--user takes NAME:PASSWORD.") }
            let password = String(user[user.utf8.index(after: colon)...])
            guard !password.isEmpty else {
                throw UsageError(
                    "--user takes NAME:PASSWORD, and the password is empty; a variable may not be set."
                )
            }
            users[String(user[..<colon])] = password
        }
        let others = identification.map(\.name) + ["nearby", "peers", "qr"]
        if arguments.flag("everybody") {
            if let other = (["user"] + others).first(where: arguments.flag) {
                throw UsageError("--everybody and --\(other) do not go together.")
            }
            return .everybodyOnLoopback
        }
        let path = directory.path(percentEncoded: false)
        let isKnown = Files.exists(path + "/listener.json")
        if users.isEmpty, !others.contains(where: arguments.flag),
            try !isKnown || ListenerUsers(directory: path).all().isEmpty
        {
            throw UsageError(
                "No user could get in: give --user NAME:PASSWORD, add one with \"divan users\", pair "
                    + "a device with --qr, or let all programs on this machine in with --everybody."
            )
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
