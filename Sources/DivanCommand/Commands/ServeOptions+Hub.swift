// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
internal import DivanListener

// The server with which databases are kept in step.
extension ServeOptions {
    static let hub: [OptionSchema] = [
        .value(
            "hub", nil, "URL",
            "Be an edge: keep databases in step with those of this server, both ways."),
        .value(
            "databases", nil, "NAME",
            "A database to keep in step, or a pattern such as 'readings-*'; ! in front leaves out.",
            repeats: true),
        .flag(
            "per-user", nil,
            "Keep the database of each user in step, userdb- with the name in hexadecimal."),
        .value("hub-user", nil, "NAME", "What the hub knows this edge by."),
        .value(
            "hub-password", nil, KeySource.valueName,
            "Get the password of --hub-user from \(KeySource.forms)."),
        .value(
            "hub-filter", nil, "DESIGN/NAME", "Bring only what a filter of the hub lets through."),
        .value(
            "hub-param", nil, "KEY=JSON", "A parameter of that filter; may be given again.",
            repeats: true),
        .value("hub-selector", nil, "JSON", "Bring only documents that a selector matches."),
        .flag("hub-security", nil, "Take over from the hub who may use each database."),
        .flag("hub-users", nil, "Take over the hub's users."),
        .value(
            "hub-pin", nil, "SHA256",
            "Trust the hub if its certificate has this fingerprint; may be given again.",
            repeats: true),
        .value(
            "hub-ca", nil, "FILE",
            "Trust the hub if the authorities of this PEM file vouch for it.",
            completion: .file),
        .value(
            "hub-interval", nil, "SECONDS",
            "How often to look for new databases and whether all is well; 30 unless given."),
    ]

    /// Reads the options above; nil where there is no hub.
    static func hub(_ invocation: Invocation) throws -> ListenerHub? {
        let arguments = invocation.arguments
        guard let url = arguments.string("hub") else {
            if let other = hub.map(\.name).first(where: arguments.flag) {
                throw UsageError("--\(other) goes with --hub URL.")
            }
            return nil
        }
        guard !arguments.flag("read-only") else {
            throw UsageError("--hub and --read-only do not go together: an edge is written to.")
        }
        guard (try? HTTPURL(typed: url)) != nil else {
            throw UsageError("--hub takes a URL such as https://hub.example.org:6984.")
        }
        var hub = ListenerHub(url, databases: arguments.strings("databases"))
        hub.followsUsers = arguments.flag("per-user")
        guard !hub.databases.isEmpty || hub.followsUsers else {
            throw UsageError("--hub needs --databases NAME, or --per-user.")
        }
        hub.authenticator = try authenticator(invocation)
        hub.filter = arguments.string("hub-filter")
        for text in arguments.strings("hub-param") {
            let (key, value) = try JSONInput.assignment(text, option: "hub-param")
            hub.filterParameters[key] = value
        }
        if let problem = FilterParameters.problem(hub.filterParameters) {
            throw UsageError("--hub-param: \(problem)")
        }
        if let text = arguments.string("hub-selector") {
            hub.selector = try JSONInput.object(Array(text.utf8), name: "--hub-selector")
        }
        hub.carriesSecurity = arguments.flag("hub-security")
        hub.carriesUsers = arguments.flag("hub-users")
        if let trust = try ReplicationOptions.trust(invocation, prefix: "hub-") {
            hub.trust = trust
        }
        if let seconds = try arguments.count("hub-interval") {
            guard (1...86_400).contains(seconds) else {
                throw UsageError("--hub-interval takes seconds, from 1 to 86400.")
            }
            hub.interval = .seconds(seconds)
        }
        return hub
    }

    private static func authenticator(_ invocation: Invocation) throws -> ReplicationAuthenticator?
    {
        let arguments = invocation.arguments
        switch (arguments.string("hub-user"), arguments.string("hub-password")) {
        case (nil, nil): return nil
        case (let name?, let text?):
            let source = try KeySource(text, option: "hub-password")
            let password = try source.secret(
                invocation.environment, invocation.interruption, "Password at the hub")
            return .session(name: name, password: String(decoding: password, as: UTF8.self))
        default: throw UsageError("--hub-user NAME and --hub-password SOURCE go together.")
        }
    }
}
