// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// The arguments and options of one command line, looked up by the names in its schema.
struct ParsedArguments: Sendable, Equatable {
    private(set) var arguments: NameMap<[String]> = [:]
    private(set) var options: NameMap<[String]> = [:]

    mutating func add(argument name: String, _ value: String) {
        arguments[name, default: []].append(value)
    }

    mutating func add(option name: String, _ value: String) {
        options[name, default: []].append(value)
    }

    /// Adds the options that are not there yet.
    mutating func complete(with others: ParsedArguments) {
        options.merge(others.options) { own, _ in own }
    }

    /// Returns a required argument. The parser has made sure that it is there.
    func argument(_ name: String) throws(UsageError) -> String {
        guard let value = arguments[name]?.first else {
            throw UsageError("\(name) is missing.")
        }
        return value
    }

    func optionalArgument(_ name: String) -> String? {
        arguments[name]?.first
    }

    func argumentList(_ name: String) -> [String] {
        arguments[name] ?? []
    }

    /// The document that the argument `ID` names, where there is one.
    var documentID: DocumentID? { documentIDs.first }

    /// The documents that the argument `ID` names.
    var documentIDs: [DocumentID] { argumentList("ID").map { DocumentID($0) } }

    /// The document that the required argument `ID` names.
    func requiredDocumentID() throws(UsageError) -> DocumentID { DocumentID(try argument("ID")) }

    /// The revision that the option `--rev` names, where there is one.
    var revisionID: RevisionID? { revisionIDs.first }

    /// The revisions that the option `--rev` names.
    var revisionIDs: [RevisionID] { strings("rev").map { RevisionID($0) } }

    func flag(_ name: String) -> Bool {
        options[name] != nil
    }

    func string(_ name: String) -> String? {
        options[name]?.first
    }

    func strings(_ name: String) -> [String] {
        options[name] ?? []
    }

    /// Returns an option's value as a whole number of 0 or more.
    func count(_ name: String) throws(UsageError) -> Int? {
        guard let text = string(name) else { return nil }
        guard let number = Int(text, radix: 10), number >= 0 else {
            throw UsageError("--\(name) takes a whole number of 0 or more, not \"\(text)\".")
        }
        return number
    }

    /// Returns an option's value as one of the cases of `type`.
    func choice<Choice>(_ name: String, as type: Choice.Type) throws(UsageError) -> Choice?
    where Choice: RawRepresentable & CaseIterable, Choice.RawValue == String {
        guard let text = string(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--\(name) takes one of \(choices), not \"\(text)\".")
        }
        return choice
    }
}
