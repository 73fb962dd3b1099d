// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON
internal import DivanLogging
public import DivanModel

/// A condition on documents in CouchDB's language of selectors (Mango).
///
/// ```swift
/// let adults = try DocumentSelector(json: ["type": "person", "age": ["$gte": 18]])
/// let both = try DocumentSelector(json: ["$or": [["city": "Oslo"], ["tags": ["$all": ["a", "b"]]]]])
/// if adults.matches(document) { show(document) }
/// ```
///
/// An object is a list of conditions that all hold. A key that begins with `$` is an operator; any other
/// is a path to a property, with dots between names, and stands before a value to be equal to or
/// before operators:
///
/// | operator | argument | fulfilled by |
/// |---|---|---|
/// | `$eq` `$ne` `$lt` `$lte` `$gt` `$gte` | any value | values in that order to it |
/// | `$in` `$nin` | array | one, or none, of these; for an array, if its elements have one |
/// | `$exists` | Boolean | a property that is there, or is not |
/// | `$type` | `"null"` `"boolean"` `"number"` `"string"` `"array"` `"object"` | values of the type |
/// | `$size` | integer | arrays of so many elements |
/// | `$mod` | `[divisor, remainder]` | integers that leave the remainder |
/// | `$regex` | string | strings in which the expression occurs (ICU's syntax) |
/// | `$beginsWith` | string | strings that begin with exactly this |
/// | `$all` | array | arrays that have all of these elements |
/// | `$elemMatch` `$allMatch` | selector | arrays of which some, or all, elements match |
/// | `$keyMapMatch` | selector | objects of which some key matches |
/// | `$and` `$or` `$nor` | array of selectors | all, one, none of them |
/// | `$not` | selector | what it is not |
///
/// `_id`, `_rev` and, for deleted documents, `_deleted` are properties too.
///
/// ## What is compared how
///
/// - Values compare by the collation `.unicode`: `null < false < true < numbers < strings < arrays <
///   objects`, strings by language. So `{"$lt": 5}` is fulfilled by null and Booleans, as in CouchDB.
/// - Equality is exact, except that `1` equals `1.0`. IDs (`_id`) compare by their bytes.
/// - A property that is missing fulfils nothing but `{"$exists": false}`, not even `$ne` or `$not`;
///   null is a value like others. On a path that leads through something that is no object, nothing
///   is fulfilled at all.
/// - An empty list behind `$and`, `$or` or `$nor` excludes nothing. A *query* whose selector is nothing but
///   such a list (`{"$or": []}`) finds nothing, since a program that builds its alternatives has none.
/// - `{"$in": []}` and `{"$all": []}` are fulfilled by nothing, `{"$nin": []}` by every value that is there.
/// - The selector `{}` is fulfilled by everything. Behind a name or an operator `{}` is a value to be equal
///   to: `{"a": {}}`, `{"tags": {"$elemMatch": {}}}`.
///
/// A selector is read once and asked as often as you like, on any thread. Asking it looks up what it
/// names in the stored form of a document, without decoding the rest.
///
/// ## When it cannot be told
///
/// A regular expression that would take too long for a text gives up after about a second. Where no other condition
/// decides, whether the document matches is then unknown, also behind `$not`: ``truth(of:)`` returns nil, and a query throws an
/// error that names the document.
public struct DocumentSelector: Sendable {
    /// The selector as it was given.
    public let json: JSONValue
    let node: SelectorNode

    /// What a query is to find: what matches, or nothing where the selector asks for nothing.
    ///
    /// CouchDB draws the same line: its filters let everything pass that such a selector excludes not, and its
    /// queries find nothing.
    var wanted: SelectorNode { SelectorParser.isEmptyList(json) ? .any([]) : node }

    /// The selector that every document matches.
    public static let all = DocumentSelector(json: .object([:]), node: .all([]))

    private init(json: JSONValue, node: SelectorNode) {
        self.json = json
        self.node = node
    }

    /// Reads a selector.
    ///
    /// - Parameter json: An object.
    /// - Throws: `DatabaseError` with code `.invalidQuery`, whose message names the operator and its
    ///   place, such as `$or[1].age.$in`.
    public init(json: JSONValue) throws {
        self.init(json: json, node: try SelectorParser().parse(json))
    }

    /// Whether a document fulfils the selector; false, with a line in the log, where ``truth(of:)`` does not know.
    public func matches(_ document: Document) -> Bool {
        Self.counted(truth(of: document), of: document.id)
    }

    /// Whether a document fulfils the selector.
    ///
    /// ```swift
    /// let isSecret = try DocumentSelector(json: ["text": ["$regex": "(?i)top secret"]])
    /// // What must not be missed must not count as not matching.
    /// if let note = try database.document(withID: "note-1"), isSecret.truth(of: note) != false {
    ///     print("It may hold a secret.")
    /// }
    /// ```
    ///
    /// - Parameter document: The document.
    /// - Returns: Whether all conditions hold; nil when that cannot be told, since a regular expression gives up.
    public func truth(of document: Document) -> Bool? {
        node.truth(of: SelectorSubject(document, tellsDeletion: true))
    }

    /// Whether a document that is not, or not yet, stored fulfils the selector.
    ///
    /// - Parameters:
    ///   - body: Its properties.
    ///   - id: What `_id` is; nil for none.
    ///   - revisionID: What `_rev` is; nil for none.
    ///   - isDeleted: Whether `_deleted` is true; otherwise there is none.
    /// - Returns: Whether all conditions hold; false, with a line in the log, where ``truth(of:id:revisionID:isDeleted:)`` does
    ///   not know.
    public func matches(
        _ body: PackedValue, id: DocumentID?, revisionID: RevisionID? = nil, isDeleted: Bool = false
    ) -> Bool {
        Self.counted(
            truth(of: body, id: id, revisionID: revisionID, isDeleted: isDeleted), of: id)
    }

    /// Whether a document that is not, or not yet, stored fulfils the selector.
    ///
    /// - Parameters:
    ///   - body: Its properties.
    ///   - id: What `_id` is; nil for none.
    ///   - revisionID: What `_rev` is; nil for none.
    ///   - isDeleted: Whether `_deleted` is true; otherwise there is none.
    /// - Returns: Whether all conditions hold; nil when that cannot be told, since a regular expression gives up.
    public func truth(
        of body: PackedValue, id: DocumentID?, revisionID: RevisionID? = nil,
        isDeleted: Bool = false
    ) -> Bool? {
        node.truth(
            of: SelectorSubject(body: body, id: id, revisionID: revisionID, isDeleted: isDeleted))
    }

    /// What is not known counts as not matching, which is logged.
    private static func counted(_ truth: Bool?, of id: DocumentID?) -> Bool {
        if let truth { return truth }
        Log.database.warning(
            "Whether the document '\(id?.text ?? "without an ID")' matches a selector cannot be told, since a "
                + "regular expression takes too long for it; it counts as not matching.")
        return false
    }
}

extension DatabaseError {
    /// Whether a document matches a selector cannot be told, since a regular expression gives up.
    package static func undecided(_ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .invalidQuery,
            "Whether the document '\(id)' matches the selector cannot be told, since a regular expression takes "
                + "too long for it; use a simpler expression, or leave the document out by another condition.",
            documentID: id)
    }
}

extension DocumentSelector: Hashable {
    /// Selectors are equal when they were given equal JSON.
    public static func == (left: DocumentSelector, right: DocumentSelector) -> Bool {
        left.json == right.json
    }

    /// Hashes the JSON.
    public func hash(into hasher: inout Hasher) { hasher.combine(json) }
}
