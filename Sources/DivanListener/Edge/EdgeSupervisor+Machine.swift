// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

// What an edge finds on its own machine, and remembers there.
extension EdgeSupervisor {
    /// The most names that hubs may call themselves by; a cluster has one for each node, unless it is configured.
    private static let mostNames = 64
    private static let memory: DocumentID = "\(Call.hiddenPrefix)edge"

    static func replicator(_ site: Site) throws -> Database {
        let name = SystemDatabase.replicator.rawValue
        if let database = try site.manager.existingDatabase(named: name) { return database }
        try site.create(name)
        return try site.manager.database(named: name)
    }

    static func memory(_ site: Site) throws -> NameSet {
        let names = try replicator(site).localDocument(memory)?["hubs"]?.array ?? []
        return NameSet(names.compactMap(\.string))
    }

    /// Notes that the server has all databases that are followed.
    func remember(_ look: Look) throws {
        guard !look.isIncomplete, look.uuid.utf8.count <= 100, !look.isKnown,
            look.memory.count < Self.mostNames
        else { return }
        let names = look.memory.union([look.uuid]).sorted().map { JSONValue.string($0) }
        try Self.replicator(look.site).putLocalDocument(Self.memory, ["hubs": .array(names)])
    }

    /// The names of the users in `_users`.
    static func users(_ site: Site) throws -> [String] {
        guard
            let database = try site.manager.existingDatabase(
                named: SystemDatabase.users.rawValue)
        else { return [] }
        var options = AllDocumentsOptions()
        options.startID = DocumentID(UserDocument.prefix)
        options.endID = UserDocument.end
        options.limit = ListenerHub.mostDatabases.addingSaturated(1)
        var names: [String] = []
        try database.forEachDocumentID(options) { id in
            let text = DocumentID(copying: id).text
            if let name = text.afterBytePrefix(UserDocument.prefix) { names.append(String(name)) }
        }
        return names
    }

    /// Lets in the user alone whose own database has a name; nil where it is no user's.
    static func security(ofOwnerOf name: String) -> JSONObject? {
        guard let digits = name.afterBytePrefix("userdb-"),
            let bytes = Hexadecimal.bytes(String(digits)), !bytes.isEmpty,
            let user = String(validating: bytes, as: UTF8.self)
        else { return nil }
        let group: JSONValue = ["names": [.string(user)], "roles": []]
        return ["admins": group, "members": group]
    }
}
