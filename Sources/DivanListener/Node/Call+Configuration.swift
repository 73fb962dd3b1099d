// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanLogging

// `_node/{node}/_config`: a text for each key of each section.
extension Call {
    private static let admins = "admins"
    /// Sections that name programs and functions, which CouchDB keeps from clients, too.
    private static let closed: NameSet = [
        "daemons", "external", "httpd_design_handlers", "httpd_db_handlers",
        "httpd_global_handlers", "native_query_servers", "os_daemons", "query_servers",
        "feature_flags",
    ]

    /// `GET /_node/{node}/_config`
    func configuration() throws -> ListenerResponse {
        try checkNode()
        let sections = shown.sections.sortedByName.map { ($0.key, Self.object($0.value)) }
        return .json(.object(JSONObject(sections)))
    }

    /// `GET /_node/{node}/_config/{section}`
    func configurationSection() throws -> ListenerResponse {
        try checkNode()
        return .json(Self.object(shown.sections[name(1)] ?? [:]))
    }

    /// `GET /_node/{node}/_config/{section}/{key}`
    func configurationValue() throws -> ListenerResponse {
        try checkNode()
        return .json(.string(try currentText()))
    }

    /// `PUT /_node/{node}/_config/{section}/{key}`: answers the former text, which is empty where there was none.
    func setConfiguration() throws -> ListenerResponse {
        try checkNode()
        try checkSection()
        guard let text = try valueBody().string else {
            throw HTTPFailure.badRequest("a JSON string expected")
        }
        let former = shown[name(1), name(2)] ?? ""
        try change(to: Self.trimmed(text))
        return .json(.string(former))
    }

    /// `DELETE /_node/{node}/_config/{section}/{key}`: answers the former text.
    func deleteConfiguration() throws -> ListenerResponse {
        try checkNode()
        try checkSection()
        let former = try currentText()
        try change(to: nil)
        return .json(.string(former))
    }

    /// `POST /_node/{node}/_config/_reload`
    func reloadConfiguration() throws -> ListenerResponse {
        try checkNode()
        try site.reconfigure { try site.configuration.reload(check: $0) }
        return .done()
    }

    private func change(to text: String?) throws {
        let (section, key) = (name(1), name(2))
        guard section == Self.admins else {
            guard !site.guardian.allowsAnonymousAdmin || !Self.decidesWhoGetsIn(section, key) else {
                throw HTTPFailure.forbidden(
                    "This listener lets in all programs of this machine, so it does not take keys that decide who gets in; start it with users."
                )
            }
            if let text { try ConfigurationRule.check(section, key, text) }
            try site.reconfigure {
                try site.configuration.set(
                    section, key, to: text, isKept: headers["X-Couch-Persist"] != "false",
                    check: $0)
            }
            // Names only: a text may be a secret.
            Log.listener.info("The configuration of \(section)/\(key) was changed by a client.")
            return
        }
        guard !site.configuration.isFrozen else { throw Configuration.frozen }
        if let text {
            try site.setAdmin(key, text)
        } else {
            try site.accounts.removeAdmin(key)
        }
        Log.listener.info("The administrators were changed by a client.")
    }

    /// Whether a key decides who gets in, or shows how to: any program could leave one for the time when names are asked for.
    private static func decidesWhoGetsIn(_ section: String, _ key: String) -> Bool {
        ["jwt_keys", "jwt_auth", PasswordLockout.section].contains(section)
            || [
                "authentication_db", "authentication_handlers", "secret", "proxy_use_secret",
                "users_db_security_editable", "allow_jsonp",
            ].contains(key)
    }

    private func checkSection() throws {
        guard !Self.closed.contains(name(1)) else {
            throw HTTPFailure.forbidden(
                "Config section blacklisted for modification over HTTP API.")
        }
    }

    private func currentText() throws -> String {
        guard let text = shown[name(1), name(2)] else {
            throw HTTPFailure.notFound("unknown_config_value")
        }
        return text
    }

    /// What was set, what counts where nothing was, and the administrators.
    private var shown: ConfigurationTable {
        var table = site.standardConfiguration.replaced(by: site.configuration.table)
        if site.guardian.allowsAnonymousAdmin {
            for (section, keys) in table.sections {
                for (key, _) in keys where Self.decidesWhoGetsIn(section, key) {
                    table[section, key] = nil
                }
            }
            return table
        }
        let admins = site.accounts.admins
        if !admins.isEmpty { table.sections[Self.admins] = admins }
        return table
    }

    private static func object(_ keys: NameMap<String>) -> JSONValue {
        .object(JSONObject(keys.sortedByName.map { ($0.key, JSONValue.string($0.value)) }))
    }

    /// A text without the white space around it.
    private static func trimmed(_ text: String) -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        let bytes = text.utf8.drop(while: isSpace)
        return String(
            decoding: bytes.dropLast(bytes.reversed().prefix(while: isSpace).count), as: UTF8.self)
    }
}

extension Site {
    /// Makes an administrator.
    ///
    /// - Throws: As `Accounts.setAdmin`.
    func setAdmin(_ name: String, _ text: String) throws {
        if guardian.allowsAnonymousAdmin {
            Log.listener.warning(
                "An administrator was added, but this listener lets in all programs of this machine; start it with users to have passwords count."
            )
        }
        try accounts.setAdmin(name, text)
    }

    /// What counts where nothing was set, as far as keys of CouchDB tell of it.
    var standardConfiguration: ConfigurationTable {
        var table = ConfigurationTable()
        table.sections = [
            "chttpd": [
                "bind_address": options.host, "enable_cors": "\(options.cors != nil)",
                "max_http_request_size": "\(options.limits.requestBody)",
                "port": "\(options.port)", "require_valid_user": "false",
            ],
            "chttpd_auth": ["allow_persistent_cookies": "true", "timeout": "600"],
            "cluster": ["n": "1", "q": "1"],
            "couchdb": [
                "max_document_size": "\(options.limits.jsonBody)",
                "users_db_security_editable": "true", "uuid": accounts.uuid,
            ],
            "vendor": ["name": "Divan"],
        ]
        guard let cors = options.cors else { return table }
        table.sections["cors"] = [
            "credentials": "\(cors.credentials)", "headers": cors.headers.joined(separator: ", "),
            "max_age": "\(cors.maxAge)", "methods": cors.methods.joined(separator: ", "),
            "origins": cors.origins.sorted().joined(separator: ", "),
        ]
        return table
    }
}
