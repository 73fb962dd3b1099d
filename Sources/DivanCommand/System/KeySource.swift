// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
internal import DivanSystem

/// Where a key or a password comes from. Never from an argument: those are seen by every other user of
/// the machine, and kept by shells.
///
///     fd:3          what a file descriptor gives to its end
///     file:PATH     what is in a file
///     env:NAME      what an environment variable holds
///     prompt        what is typed at the terminal, which does not show it
enum KeySource: Equatable {
    case descriptor(Int32)
    case file(String)
    case variable(String)
    case prompt

    static let valueName = "SOURCE"
    /// The same for every option that takes one.
    static let forms = "fd:N, file:PATH, env:NAME or prompt"

    /// The options of every command that opens a database.
    static let options: [OptionSchema] = [
        .value(
            "encryption-key", nil, valueName,
            "The database is encrypted: get its key of 32 bytes, or 64 hexadecimal digits, from"
                + " \(forms)."),
        .value("encryption-password", nil, valueName, "The same for a password."),
    ]

    /// Reads what an option says. What it says is not repeated in the error: it may be the secret itself.
    init(_ text: String, option: String) throws(UsageError) {
        if text == "prompt" {
            self = .prompt
        } else if let number = text.afterBytePrefix("fd:").flatMap({ Int32($0, radix: 10) }),
            number >= 0
        {
            self = .descriptor(number)
        } else if let path = text.afterBytePrefix("file:"), !path.isEmpty {
            self = .file(path)
        } else if let name = text.afterBytePrefix("env:"), !name.isEmpty {
            self = .variable(name)
        } else {
            throw UsageError(
                "--\(option) takes no secret but where to get it from: \(Self.forms).")
        }
    }

    /// The key that two options of a command name together; nil when neither is given.
    ///
    /// - Parameters:
    ///   - arguments: The options.
    ///   - environment: The environment of the process.
    ///   - interruption: What ends a question at the terminal.
    ///   - prefix: What stands before `key` and `password` in the names of the options.
    ///   - isNew: Whether the key does not open anything yet. A typing mistake would then lock every user out,
    ///     so the command asks for the key twice.
    /// - Returns: The key.
    /// - Throws: `UsageError` or `CommandFailure`, neither of which repeats a secret.
    static func key(
        _ arguments: ParsedArguments, _ environment: EnvironmentVariables,
        _ interruption: Interruption, prefix: String = "encryption-", isNew: Bool = false
    ) throws -> EncryptionKey? {
        let (key, password) = (prefix + "key", prefix + "password")
        switch (arguments.string(key), arguments.string(password)) {
        case (nil, nil): return nil
        case (.some, .some):
            throw UsageError("--\(key) and --\(password) cannot be given together.")
        case (let text?, nil):
            let source = try KeySource(text, option: key)
            return try rawKey(source.read(environment, interruption, "Key", isNew: isNew))
        case (nil, let text?):
            let source = try KeySource(text, option: password)
            let bytes = try source.read(environment, interruption, "Password", isNew: isNew)
            guard let password = String(validating: bytes, as: UTF8.self) else {
                throw CommandFailure(.badInput, "The password is not UTF-8.")
            }
            // One that is there already may be empty: it was taken once.
            guard !isNew || !password.isEmpty else {
                throw CommandFailure(
                    .badInput, "The new password is empty; give it at least one character.")
            }
            return .password(password)
        }
    }

    private static func rawKey(_ bytes: [UInt8]) throws -> EncryptionKey {
        if bytes.count == 64, let key = hexadecimal(bytes) {
            return try EncryptionKey(rawBytes: key)
        }
        guard bytes.count == 32 else {
            throw CommandFailure(.badInput, "A key is 32 bytes, or 64 hexadecimal digits.")
        }
        return try EncryptionKey(rawBytes: bytes)
    }

    private static func hexadecimal(_ digits: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[start..<start + 2], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16), !pair.contains("+") else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// A secret of any length, without the end of a line after it.
    ///
    /// - Parameters:
    ///   - environment: The environment of the process.
    ///   - interruption: What ends a question at the terminal.
    ///   - title: What it is, in words that begin a sentence.
    /// - Returns: Its bytes, one at least.
    /// - Throws: `CommandFailure`, which does not repeat the secret.
    func secret(
        _ environment: EnvironmentVariables, _ interruption: Interruption, _ title: String
    ) throws(CommandFailure) -> [UInt8] {
        let bytes = Self.withoutLineEnd(
            try content(environment, interruption, title, isNew: false))
        guard !bytes.isEmpty else { throw CommandFailure(.badInput, "\(title): it is empty.") }
        return bytes
    }

    /// The bytes, without the end of a line after them unless they are a key with it.
    private func read(
        _ environment: EnvironmentVariables, _ interruption: Interruption, _ title: String,
        isNew: Bool
    ) throws(CommandFailure) -> [UInt8] {
        let bytes = try content(environment, interruption, title, isNew: isNew)
        return bytes.count == 32 ? bytes : Self.withoutLineEnd(bytes)
    }

    private static func withoutLineEnd(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.last == UInt8(ascii: "\n") else { return bytes }
        return bytes.dropLast(bytes.dropLast().last == UInt8(ascii: "\r") ? 2 : 1)
    }

    /// All that the source gives.
    private func content(
        _ environment: EnvironmentVariables, _ interruption: Interruption, _ title: String,
        isNew: Bool
    ) throws(CommandFailure) -> [UInt8] {
        switch self {
        case .descriptor(let number):
            return try Self.all(of: number, interruption, name: "file descriptor \(number)")
        case .file(let path):
            let descriptor: Int32
            do { descriptor = try Descriptors.open(path, [.read, .waits]) } catch {
                throw CommandFailure(.failure, "\(PrintableText.escaping(path)): \(error.reason).")
            }
            defer { Descriptors.close(descriptor) }
            return try Self.all(of: descriptor, interruption, name: PrintableText.escaping(path))
        case .variable(let name):
            guard let value = environment[name] else {
                throw CommandFailure(
                    .badInput,
                    "There is no environment variable \(PrintableText.escaping(name)).")
            }
            return Array(value.utf8)
        case .prompt:
            return try Self.typed(title, isNew: isNew, interruption)
        }
    }

    /// More than any key or password has.
    private static let longest = 65_536

    private static func all(
        of descriptor: Int32, _ interruption: Interruption, name: String
    ) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while bytes.count <= longest {
            // A pipe may have nothing to give yet, and a terminal's line is not typed yet.
            while !Descriptors.waitUntilReadable(descriptor, milliseconds: 100) {
                try interruption.check()
            }
            let count: Int
            do { count = try Descriptors.readSome(descriptor, into: &buffer) } catch {
                throw CommandFailure(.failure, "\(name): \(error.reason).")
            }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
        throw CommandFailure(.badInput, "\(name) has more than a key or a password.")
    }

    private static func typed(
        _ title: String, isNew: Bool, _ interruption: Interruption
    ) throws(CommandFailure) -> [UInt8] {
        guard isNew else { return try answer("\(title): ", interruption) }
        let bytes = try answer("New \(title): ", interruption)
        if try answer("New \(title), again: ", interruption) == bytes { return bytes }
        throw CommandFailure(.badInput, "What was typed is not the same both times.")
    }

    /// Asks at the terminal, which would stay as it is while it asks if the command ended at once.
    private static func answer(
        _ question: String, _ interruption: Interruption
    ) throws(CommandFailure) -> [UInt8] {
        interruption.listenToTermination()
        let bytes: [UInt8]?
        do {
            bytes = try TerminalDevice.readSecret(asking: question) { interruption.isRequested }
        } catch {
            throw CommandFailure(.failure, "There is no terminal to ask at: \(error.reason).")
        }
        guard let bytes else { throw Interruption.failure }
        return bytes
    }
}
