// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What the options of a listener and its configuration say together.
///
/// A key that was set goes before the option that speaks of the same thing. The limits of the options are the exception:
/// a key can lower them, and not raise them, since they say what the app can bear.
struct ListenerSettings: Sendable {
    /// Who may use a database of which no `_security` was stored.
    enum OpenDatabases: Sendable {
        /// Every user that is signed in, as long as nothing is set.
        case users
        /// Every client.
        case everyone
        /// Administrators only.
        case admins
    }

    /// Which pages of other origins may use the listener; nil for none.
    var cors: ListenerCORS?
    /// The challenge of a 401.
    var challenge: String
    /// Where a proxy in front says what its client called.
    let forwarded: ForwardedFields
    /// Whether a client must show who it is, whatever it asks for.
    var requiresUser = false
    /// Whether that holds for `_up`, too.
    var requiresUserForUp = false
    /// How long a cookie holds after it was last used.
    var sessionSeconds: Int64 = 600
    /// Whether a cookie outlives the browser.
    var keepsCookies = true
    /// The domain and the kind of sites that a cookie is for; nil for what is usual.
    var cookieDomain: String?
    var cookieSameSite: String?
    /// The kind of sites where nothing is set: with a console, pages of the listener itself.
    let usualSameSite: String
    /// What wrong passwords lead to.
    let lockout: PasswordLockout
    /// A secret in place of the listener's own.
    var secret: [UInt8]?
    /// The tokens and the proxy that say who a client is; nil where they do not.
    var tokens: ConfiguredTokens?
    var proxy: ConfiguredProxy?
    /// The longest body of a request, document and attachment.
    var longestRequest: Int
    var longestDocument: Int?
    var longestAttachment: Int
    /// The most rows of a view or of all documents, and of those of a partition; nil for any number.
    var mostRows: Int?
    var mostRowsOfPartition: Int?
    /// The content of a partition, in bytes, at which edits must not make its documents longer; nil for none.
    var largestPartition: Int?
    /// How much of the disk may be used while documents are edited, in percent; nil for all of it.
    var fullestDisk: Int?
    /// The same while indexes of views are brought up to date.
    var fullestDiskForViews: Int?
    /// How long after a document's deletion it is purged, in databases that do not say it themselves; nil for never.
    var purgesDeletedAfter: TimePeriod?
    /// Whether that is only counted, and told in the log.
    var onlyCountsPurges = false
    /// The name of the database of users.
    var usersDatabase = SystemDatabase.users.rawValue
    /// What passwords of accounts must be like.
    var passwords = PasswordRequirements(nil)
    /// Whether clients may change the `_security` of the database of users.
    var allowsUsersSecurity = true
    /// Whether clients without a name may make an account, where the `_security` of the database of users names no members.
    var allowsSignUp = false
    /// The properties of accounts that every user may read; empty where each user reads the own account alone.
    var publicUserFields: [String] = []
    /// Who may use a database without a `_security`.
    var openDatabases = OpenDatabases.users
    /// Whether the list of databases is for administrators.
    var hidesDatabaseNames = true
    /// Whether answers can be calls of a function that a page names (JSONP).
    var allowsCallbacks = false
    /// Whether rules of `rewrites` stay in their database.
    var keepsRewritesInside = true
    /// How the IDs of `_uuids` are made.
    var uuids = UUIDAlgorithm.sequential
    /// What `_up` says instead of `ok`; nil where it says that.
    var maintenance: String?

    /// Reads a configuration.
    init(_ table: ConfigurationTable, _ options: ListenerOptions) {
        cors = Self.cors(table, options.cors)
        challenge = "Basic realm=\"\(options.realm)\""
        usualSameSite = options.console == nil ? "Lax" : "Strict"
        forwarded = ForwardedFields(table)
        lockout = PasswordLockout(table, options.limits)
        longestRequest = options.limits.requestBody
        longestAttachment = options.limits.attachment
        readSessions(table)
        readLimits(table)
        if let text = table.visible("WWW-Authenticate", in: ConfigurationTable.server),
            !text.isEmpty
        {
            challenge = text
        }
        let isUpOpen = table.flag("require_valid_user_except_for_up", in: ["chttpd"]) ?? false
        // CouchDB 1 and 2 had the key in the sections of authentication, and scripts set all of them.
        let required = (ConfigurationTable.server + ConfigurationTable.authentication).contains {
            table.flag("require_valid_user", in: [$0]) ?? false
        }
        requiresUser = required || isUpOpen
        requiresUserForUp = required && !isUpOpen
        let isEditable = table.flag("users_db_security_editable", in: ConfigurationTable.couchdb)
        allowsUsersSecurity = isEditable ?? true
        // In CouchDB, too, this comes before: without it no client makes the database of users an open one.
        allowsSignUp = isEditable ?? false
        let users = ConfigurationTable.authentication
        if let name = table.text("authentication_db", in: users), SystemDatabase.mayBeUsers(name) {
            usersDatabase = name
        }
        passwords = PasswordRequirements(table.text("password_regexp", in: users))
        if table.flag("users_db_public", in: users) ?? false {
            publicUserFields = ConfigurationTable.words(
                of: table.text("public_fields", in: users) ?? "")
        }
        let handlers = table.text("authentication_handlers", in: ConfigurationTable.server) ?? ""
        if handlers.contains("jwt_authentication_handler") { tokens = ConfiguredTokens(table) }
        if handlers.contains("proxy_authentication_handler")
            || handlers.contains("proxy_authentification_handler")
        {
            proxy = ConfiguredProxy(table)
        }
        switch table["couchdb", "default_security"] {
        case "everyone", "admin_local": openDatabases = .everyone
        case "admin_only": openDatabases = .admins
        default: break
        }
        uuids = UUIDAlgorithm(table)
        allowsCallbacks = table.flag("allow_jsonp", in: ConfigurationTable.server) ?? false
        keepsRewritesInside = table.flag("secure_rewrites", in: ConfigurationTable.server) ?? true
        hidesDatabaseNames = table.flag("admin_only_all_dbs", in: ["chttpd"]) ?? true
        switch table["couchdb", "maintenance_mode"] {
        case "true": maintenance = "maintenance_mode"
        case "nolb": maintenance = "nolb"
        default: break
        }
    }

    private mutating func readSessions(_ table: ConfigurationTable) {
        let sections = ConfigurationTable.authentication
        if let seconds = table.count("timeout", in: sections) {
            sessionSeconds = Int64(clamping: min(seconds, Self.longestSession))
        }
        keepsCookies = table.flag("allow_persistent_cookies", in: sections) ?? true
        // What follows a semicolon would be an attribute of its own.
        cookieDomain = table.visible("cookie_domain", in: sections).flatMap {
            $0.isEmpty || $0.contains(";") ? nil : $0
        }
        let kinds: NameMap<String> = ["none": "None", "lax": "Lax", "strict": "Strict"]
        cookieSameSite = table.text("same_site", in: sections).flatMap { kinds[$0.lowercased()] }
        secret = table.text("secret", in: sections).flatMap { $0.isEmpty ? nil : Array($0.utf8) }
    }

    /// CouchDB's default, in percent.
    private static let usualFullestDisk = 90

    /// A hundred years.
    private static let longestSession = 3_155_760_000

    private mutating func readLimits(_ table: ConfigurationTable) {
        let (server, couchdb) = (ConfigurationTable.server, ConfigurationTable.couchdb)
        longestRequest = min(
            longestRequest, table.count("max_http_request_size", in: server) ?? .max)
        longestAttachment = min(
            longestAttachment, table.count("max_attachment_size", in: couchdb) ?? .max)
        longestDocument = table.count("max_document_size", in: couchdb)
        largestPartition = table.count("max_partition_size", in: couchdb)
        if table.flag("enable", in: ConfigurationTable.disk) ?? false {
            func percent(_ key: String) -> Int {
                table.percent(key, in: ConfigurationTable.disk) ?? Self.usualFullestDisk
            }
            fullestDisk = percent("interactive_database_writes_threshold")
            fullestDiskForViews = percent("interactive_view_indexing_threshold")
        }
        purgesDeletedAfter = table.text("deleted_document_ttl", in: AutoPurge.sections).flatMap(
            TimePeriod.init)
        onlyCountsPurges = table.flag("dry_run", in: AutoPurge.sections) ?? false
        mostRows = table.count("query_limit", in: ["query_server_config"])
        mostRowsOfPartition = table.count("partition_query_limit", in: ["query_server_config"])
    }

    private static func cors(
        _ table: ConfigurationTable, _ given: ListenerCORS?
    ) -> ListenerCORS? {
        switch table.flag("enable_cors", in: ConfigurationTable.server) {
        case false?: return nil
        case nil: guard given != nil else { return nil }
        case true?: break
        }
        var cors = given ?? ListenerCORS()
        let section = ConfigurationTable.cors
        if let origins = table.words("origins", in: section) { cors.origins = NameSet(origins) }
        if let credentials = table.flag("credentials", in: section) {
            cors.credentials = credentials
        }
        if let methods = table.words("methods", in: section) {
            cors.methods = methods.map { $0.uppercased() }
        }
        if let headers = table.words("headers", in: section) { cors.headers = headers }
        if let seconds = table.count("max_age", in: section) { cors.maxAge = seconds }
        return cors
    }
}
