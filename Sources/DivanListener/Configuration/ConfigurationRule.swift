// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What a key that means something here accepts.
///
/// A text that a key cannot have would count as if it were not there (``ConfigurationTable``), so the client that sets it is told at
/// once. Keys that mean nothing here take any text, so that what sets up a CouchDB works. What a file already has is not refused.
enum ConfigurationRule: Sendable {
    /// `true` or `false`.
    case flag
    /// A number from 1 on; of some keys CouchDB takes `infinity` as well.
    case count(orInfinity: Bool = false)
    /// A number from 0 to 100.
    case percent
    /// How long something lasts.
    case period
    /// One of some words.
    case choice([String])
    /// Words of a list, with commas between them.
    case words([String])
    /// What may stand in a header field.
    case visible
    /// The name of a header field.
    case field
    /// The domain of a cookie.
    case domain
    /// The name of a database in which users may be.
    case usersDatabase
    /// A list of regular expressions; a text of another form is kept as it is.
    case expressions
    /// A secret, which is never empty.
    case secret
    /// The claims that a token must have.
    case claims

    /// A key by which tokens are checked, under its name.
    case tokenKey(String)

    /// The rule of a key; nil where it means nothing here, or may be any text.
    static func of(_ section: String, _ key: String) -> ConfigurationRule? {
        guard !section.hasSameBytes(as: "jwt_keys") else { return .tokenKey(key) }
        return rules.first { rule in
            key.hasSameBytes(as: rule.key)
                && rule.sections.contains { section.hasSameBytes(as: $0) }
        }?.rule
    }

    private static let rules: [(sections: [String], key: String, rule: ConfigurationRule)] = {
        let (server, couchdb) = (ConfigurationTable.server, ConfigurationTable.couchdb)
        let (cors, users) = (ConfigurationTable.cors, ConfigurationTable.authentication)
        let (lockout, disk) = ([PasswordLockout.section], ConfigurationTable.disk)
        return [
            (server, "enable_cors", .flag), (server + users, "require_valid_user", .flag),
            (["chttpd"], "require_valid_user_except_for_up", .flag),
            (["chttpd"], "admin_only_all_dbs", .flag),
            (server, "allow_jsonp", .flag), (server, "secure_rewrites", .flag),
            (server, "max_http_request_size", .count()), (server, "WWW-Authenticate", .visible),
            (server, "x_forwarded_host", .field), (server, "x_forwarded_proto", .field),
            (server, "x_forwarded_ssl", .field),
            (users, "timeout", .count()), (users, "allow_persistent_cookies", .flag),
            (users, "cookie_domain", .domain), (users, "secret", .secret),
            (users, "same_site", .choice(["", "none", "lax", "strict"])),
            (users, "authentication_db", .usersDatabase),
            (users, "password_regexp", .expressions),
            (users, "proxy_use_secret", .flag), (users, "users_db_public", .flag),
            (users, "hash_algorithms", .words(["sha", "sha256", "sha384", "sha512"])),
            (lockout, "mode", .choice(PasswordLockout.Mode.allCases.map(\.rawValue))),
            (lockout, "threshold", .count()), (lockout, "max_lifetime", .count()),
            (["jwt_auth"], "required_claims", .claims),
            (couchdb, "max_document_size", .count()),
            (couchdb, "max_partition_size", .count(orInfinity: true)),
            (couchdb, "max_attachment_size", .count(orInfinity: true)),
            (couchdb, "users_db_security_editable", .flag), (couchdb, "single_node", .flag),
            (couchdb, "default_security", .choice(["admin_only", "admin_local", "everyone"])),
            (couchdb, "maintenance_mode", .choice(["true", "false", "nolb"])),
            (disk, "enable", .flag), (disk, "interactive_database_writes_threshold", .percent),
            (disk, "interactive_view_indexing_threshold", .percent),
            (AutoPurge.sections, "deleted_document_ttl", .period),
            (AutoPurge.sections, "dry_run", .flag),
            (["query_server_config"], "query_limit", .count(orInfinity: true)),
            (["query_server_config"], "partition_query_limit", .count(orInfinity: true)),
            (cors, "origins", .visible), (cors, "methods", .visible), (cors, "headers", .visible),
            (cors, "credentials", .flag), (cors, "max_age", .count()),
            (["uuids"], "algorithm", .choice(["random", "sequential", "utc_random", "utc_id"])),
            (["uuids"], "utc_id_suffix", .visible),
        ]
    }()

    /// Refuses a text that a key cannot have.
    ///
    /// - Throws: `HTTPFailure` 400, which says what the key accepts.
    static func check(_ section: String, _ key: String, _ text: String) throws {
        guard let rule = of(section, key), !rule.accepts(text) else { return }
        throw HTTPFailure.badRequest("The key `\(section)/\(key)` must be \(rule.words).")
    }

    private func accepts(_ text: String) -> Bool {
        // Read as it will be read.
        var table = ConfigurationTable()
        table["s", "k"] = text
        switch self {
        case .flag: return table.flag("k", in: ["s"]) != nil
        case .count(let orInfinity):
            return table.count("k", in: ["s"]) != nil || orInfinity && text == "infinity"
        case .percent: return table.percent("k", in: ["s"]) != nil
        case .period: return TimePeriod(text) != nil
        case .choice(let words): return words.contains { text.hasSameBytes(as: $0) }
        case .words(let known):
            let given = ConfigurationTable.words(of: text)
            return !given.isEmpty
                && given.allSatisfy { word in known.contains { word.hasSameBytes(as: $0) } }
        case .visible: return table.visible("k", in: ["s"]) != nil
        case .field: return table.field("k", in: ["s"]) != nil
        case .domain: return table.visible("k", in: ["s"]) != nil && !text.contains(";")
        case .usersDatabase: return SystemDatabase.mayBeUsers(text)
        case .expressions: return PasswordRequirements.mayBe(text)
        case .secret: return !text.isEmpty
        case .claims: return ConfiguredTokens.claims(text) != nil
        case .tokenKey(let name): return ConfiguredTokens.isKey(text, named: name) ?? true
        }
    }

    /// What it accepts, behind "must be".
    private var words: String {
        switch self {
        case .flag: "`true` or `false`"
        case .count(let orInfinity):
            "a whole number from 1 to \(ConfigurationTable.mostCount)"
                + (orInfinity ? ", or `infinity`" : "")
        case .percent: "a whole number from 0 to 100"
        case .period: "a number and a unit of time, such as `30_days`, or `infinity`"
        case .choice(let words):
            "one of " + words.map { $0.isEmpty ? "nothing" : "`\($0)`" }.joined(separator: ", ")
        case .words(let words):
            "a list, with commas, of " + words.map { "`\($0)`" }.joined(separator: ", ")
        case .visible: "a text of visible ASCII characters and spaces"
        case .field: "the name of a header field"
        case .domain: "the name of a domain, without a semicolon"
        case .usersDatabase:
            "the name of a database, and none that the listener has for other things"
        case .expressions:
            "a list of regular expressions, \(PasswordRequirements.most) at most, as `[{\".{10,}\", \"reason\"}]`"
        case .secret: "a text that is not empty"
        case .tokenKey:
            "the base64 of a key under `hmac:`, and a public key as PEM under `rsa:` or `ec:`"
        case .claims: "a list of claims, as `exp, {iss, \"https://issuer.example\"}`"
        }
    }
}
