// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import FoundationEssentials

extension Command {
    /// `divan rekey`: another key, encryption added or removed.
    static let rekey = Command(
        CommandSchema(
            name: "rekey",
            summary: "Give a database another key, encrypt it, or remove its encryption.",
            discussion: """
                --encryption-key and --encryption-password say what opens the database now. Another key is done at once, \
                unless --reencrypt has all data written anew; so do encrypting and removing \
                encryption. That needs the database closed everywhere else, and room for both. \
                Whenever power or process end, there is the database as it was or as it is to be.
                """,
            arguments: [.database],
            options: [
                .value(
                    "new-key", nil, KeySource.valueName,
                    "Get the new key, 32 bytes or 64 hexadecimal digits, from \(KeySource.forms)."),
                .value("new-password", nil, KeySource.valueName, "The same for a password."),
                .flag("remove", nil, "Remove the encryption."),
                .flag("reencrypt", nil, "Write all data anew, with a new key of their own."),
            ],
            examples: [
                "divan rekey diary.divan --encryption-password prompt --new-password prompt",
                "divan rekey notes.divan --new-key file:/run/secrets/notes",
                "divan rekey notes.divan --encryption-key file:/run/secrets/notes --remove",
            ])
    ) { invocation in
        let arguments = invocation.arguments
        let key = try KeySource.key(
            arguments, invocation.environment, invocation.interruption, prefix: "new-", isNew: true)
        guard (key == nil) == arguments.flag("remove") else {
            throw UsageError("Give one of --new-key, --new-password and --remove.")
        }
        let database = try invocation.openDatabase(forWriting: true)
        defer { database.close() }
        let path = PrintableText.escaping(database.path)
        guard key != nil || database.isEncrypted else {
            return invocation.output.remark("\(path) is not encrypted.")
        }
        try invocation.withProgress("Rewriting") { progress in
            try database.changeEncryptionKey(
                to: key, reencrypt: arguments.flag("reencrypt"), progress: progress)
        }
        invocation.output.remark(
            key == nil ? "\(path) is not encrypted any more." : "\(path) has its new key.")
    }
}
