// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem

/// The file of options that `--options` names, for a command that is started without a person who types them.
///
///     # divan serve --options serve.conf /var/lib/divan
///     host = 0.0.0.0
///     tls
///     cors = https://app.example.org
enum OptionsFile {
    static let option = OptionSchema.value(
        "options", nil, "FILE",
        "Take options from a file, too: one a line, as NAME or NAME = VALUE. Those on the command line go before them.",
        completion: .file)

    /// More than any such file has.
    private static let longest = 1 << 20

    /// What was typed, with the options of the file that it names.
    ///
    /// - Throws: `UsageError` where the file has a line that makes no sense, `CommandFailure` when it cannot be read.
    static func completing(_ typed: ParsedArguments, _ schema: CommandSchema) throws
        -> ParsedArguments
    {
        guard let path = typed.string(option.name) else { return typed }
        let name = PrintableText.escaping(path)
        let bytes: [UInt8]
        do { bytes = try Files.read(path) } catch {
            throw CommandFailure(.failure, "The options in \(name): \(error.reason).")
        }
        guard bytes.count < longest, let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(
                .badInput, "\(name) is no file of options: it is not UTF-8, or a megabyte long.")
        }
        var allowed = schema
        // A file names no other one.
        allowed.hidden = ["help", option.name]
        let read = try CommandLineParser.parse(optionLines: text, of: name, by: allowed)
        var arguments = typed
        arguments.complete(with: read)
        return arguments
    }
}
