// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

/// A change that rules are asked about, as JSON texts.
struct DesignChange {
    var new: [UInt8]
    var old: [UInt8]
    var user: [UInt8]
    var security: [UInt8]
}

/// The rule of a design document for what may be stored: its `validate_doc_update`.
///
/// It is a function, or in the language `query` a selector, which the change must match:
///
///     {"language": "query", "validate_doc_update": {"newDoc": {"type": {"$exists": true}}}}
///     matches      {"newDoc": {…}, "oldDoc": {…}, "userCtx": {…}, "secObj": {…}}
enum DesignRule: Sendable {
    case function(DesignFunctions)
    case selector(DocumentSelector, of: DocumentID)

    /// Reads the selector of a design document; nil when it has none.
    ///
    /// - Throws: `DatabaseError` with code `.scriptFailed` when it is malformed: then nothing may be stored, since what it was to
    ///   forbid is not known.
    init?(selectorOf document: Document) throws {
        guard document["language"].string == QueryIndexes.language,
            let rule = document["validate_doc_update"].value, rule.object != nil
        else { return nil }
        do { self = .selector(try DocumentSelector(json: rule), of: document.id) } catch {
            throw DatabaseError(
                .scriptFailed,
                "The rule of '\(document.id)' is no selector, so nothing can be stored; mend it or delete it.",
                documentID: document.id, underlying: error)
        }
    }

    /// The design document.
    var id: DocumentID {
        switch self {
        case .function(let functions): functions.document.id
        case .selector(_, let id): id
        }
    }

    /// Why a change may not be stored; nil when it may.
    ///
    /// - Throws: `DatabaseError` with code `.scriptFailed` when that cannot be told.
    func refusal(of change: DesignChange) throws -> ScriptError? {
        switch self {
        case .function(let functions):
            return try DatabaseError.naming(id) { () throws(ScriptError) in
                try functions.verdict([change.new, change.old, change.user, change.security])
            }
        case .selector(let selector, let id):
            let members: [(String, [UInt8])] = [
                ("newDoc", change.new), ("oldDoc", change.old), ("userCtx", change.user),
                ("secObj", change.security),
            ]
            var object: JSONObject = [:]
            for (name, text) in members { object[name] = try JSONParser.parse(text) }
            let packed = PackedValue(.object(object))
            let isMatch = try DatabaseError.naming(id, "The rule") { () throws(ScriptError) in
                guard let truth = selector.truth(of: packed, id: nil) else { throw .undecided }
                return truth
            }
            return isMatch
                ? nil
                : .script(
                    name: "forbidden", reason: "The document does not match the rule of '\(id)'.")
        }
    }
}

extension ScriptError {
    /// A selector that is a rule cannot tell whether a change matches.
    fileprivate static let undecided = ScriptError(
        .timeLimit,
        "A regular expression of it takes too long for the document; use a simpler expression, or a shorter text."
    )
}

extension DesignFunctions {
    /// What a validation function says: nil when the revision may be stored.
    ///
    /// What a script throws is its verdict; all other errors leave it open.
    func verdict(_ arguments: [[UInt8]]) throws(ScriptError) -> ScriptError? {
        do throws(ScriptError) {
            let answer = try call(["validate_doc_update"], arguments)
            for name in ["forbidden", "unauthorized"] {
                if let reason = answer[name] {
                    return .script(name: name, reason: reason.string ?? reason.jsonText)
                }
            }
            return answer.int64 == 1 ? nil : .script(name: "unknown_error", reason: answer.jsonText)
        } catch  where error.code == .script {
            return error
        }
    }
}
