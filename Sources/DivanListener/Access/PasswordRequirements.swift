// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

/// What the password of an account must be like, by the configuration (`chttpd_auth/password_regexp`), in CouchDB's form:
///
///     [{".{10,}"}, {"[A-Z]+", "It needs a capital letter."}, "[0-9]"]
///
/// Each regular expression must occur in a password that is set. Hashes that are stored are not asked.
struct PasswordRequirements: Sendable {
    private struct Requirement: Sendable {
        let pattern: any TextPattern
        let reason: String
    }

    /// The most regular expressions: a password waits for each, a second at most.
    static let most = 32
    /// The longest password that they are looked for in, in bytes.
    private static let longest = 1_024

    /// nil where the text has another form: then no password is taken.
    private let requirements: [Requirement]?

    /// Those of a configuration; a text that is empty has none.
    init(_ text: String?) {
        let text = text ?? ""
        requirements = text.isEmpty ? [] : try? Self.requirements(text)
    }

    /// Whether a text can be set. One of another form can, as in CouchDB; one of this form with a regular expression that is none
    /// cannot.
    static func mayBe(_ text: String) -> Bool {
        do { _ = try requirements(text) } catch { return error == .form }
        return true
    }

    /// Refuses a password that does not have what is asked.
    ///
    /// - Throws: `HTTPFailure` 400 with the reason; 403 where it cannot be told.
    func check(_ password: String) throws {
        guard let requirements else {
            throw HTTPFailure.forbidden("Server cannot hash passwords at this time.")
        }
        guard !requirements.isEmpty else { return }
        let bytes = Array(password.utf8)
        for requirement in requirements {
            // One that would take too long occurs as little as one that is not there.
            guard bytes.count <= Self.longest, requirement.pattern.occurs(in: bytes.span) ?? false
            else {
                let refusal = "Password does not conform to requirements."
                throw HTTPFailure.badRequest(
                    requirement.reason.isEmpty ? refusal : "\(refusal) \(requirement.reason)")
            }
        }
    }

    // MARK: - Reading

    private enum Flaw: Error {
        /// It is no list of regular expressions.
        case form
        /// One of them is none, or there are too many.
        case pattern
    }

    private static func requirements(_ text: String) throws(Flaw) -> [Requirement] {
        guard let term = ErlangTerm(text), case .list(let items) = term else { throw .form }
        guard items.count <= most else { throw .pattern }
        var requirements: [Requirement] = []
        for item in items {
            guard let (text, reason) = texts(item) else { throw .form }
            guard let pattern = try? ICUPattern(text) else { throw .pattern }
            requirements.append(Requirement(pattern: pattern, reason: reason))
        }
        return requirements
    }

    /// A regular expression and what is said where it does not occur.
    private static func texts(_ item: ErlangTerm) -> (String, reason: String)? {
        switch item {
        case .text(let text): return (text, "")
        case .tuple(let parts):
            guard (1...2).contains(parts.count), case .text(let text) = parts[0] else { return nil }
            if parts.count == 2, case .text(let reason) = parts[1] { return (text, reason) }
            return (text, "")
        case .list, .other: return nil
        }
    }
}
