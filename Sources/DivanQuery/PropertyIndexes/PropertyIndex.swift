// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
public import DivanJSON

/// An index on properties of documents, kept by the database and used by its queries.
///
/// ```swift
/// try database.createIndex(PropertyIndex(on: "type", "createdAt"))
/// try database.createIndex(PropertyIndex(named: "tags", on: "tags[]"))
/// ```
///
/// A path is that of a selector: `address.zip`; `list[0]` is an element. `tags[]` indexes every element of
/// an array, `items[].name` a property of every element; one path of an index may do so.
///
/// Queries choose among the indexes by themselves, by counting rows; a query need not name one. An
/// index on several properties serves conditions on the first, on the first two, and so on, and orders
/// by them. It serves selectors, which sort texts by `.unicode`, and the query builder, which sorts them by
/// `.raw` unless a query says `.collate`: it keeps its rows in each order that queries need, from the first
/// such query on. One that is declared with a collation keeps them in that order alone, and cannot serve ranges
/// and orders of texts in another one.
///
/// Documents without a property have rows too, so that a condition that a property is missing is
/// served, and an order has all documents. With a filter, only documents that match it have rows, and those for
/// which a regular expression of it takes too long; such an index is used by queries that name it.
public struct PropertyIndex: Sendable, Hashable {
    /// The name; two indexes of a database have different ones.
    @ByBytes public var name: String
    /// The paths to the properties, the one to sort by first at the front.
    @ByBytes public var paths: [String]
    /// The only order of values that rows are kept in; nil for each that queries need.
    public var collation: Collation?
    /// What documents must match to have rows; nil for all documents.
    public var filter: DocumentSelector?
    /// Whether rows lie by the partitions of their documents, in a partitioned database.
    ///
    /// Such an index serves queries of one partition, whose rows it has together, and no others.
    public var isPartitioned = false

    /// Describes an index.
    ///
    /// - Parameters:
    ///   - name: Its name; without one, made of the paths and the collation.
    ///   - paths: The paths to the properties.
    ///   - collation: The only order of values that rows are kept in; nil for each that queries need.
    ///   - filter: What documents must match to have rows.
    public init(
        named name: String? = nil, on paths: String..., collation: Collation? = nil,
        filter: DocumentSelector? = nil
    ) {
        self.init(named: name, on: paths, collation: collation, filter: filter)
    }

    /// Describes an index on a list of paths.
    public init(
        named name: String? = nil, on paths: [String], collation: Collation? = nil,
        filter: DocumentSelector? = nil
    ) {
        self.name = name ?? Self.name(of: paths, collation)
        self.paths = paths
        self.collation = collation
        self.filter = filter
    }
}

extension PropertyIndex {
    /// The name of an index without one, which no other paths or collation have.
    ///
    ///     age, name           on "age" and "name"
    ///     age (raw)           on "age", in the order of bytes alone
    ///     "age, name"         on the one property of that name: what would be taken for more is quoted
    private static func name(of paths: [String], _ collation: Collation?) -> String {
        let names = paths.map { path in
            let isPlain = !path.utf8.contains { [0x20, 0x22, 0x28, 0x2C].contains($0) }
            return isPlain && !path.isEmpty ? path : JSONValue.string(path).description
        }
        return names.joined(separator: ", ") + (collation.map { " (\($0.rawValue))" } ?? "")
    }

    /// The orders that its rows may be kept in. Those in the first one are the rows of its own name.
    var orders: [Collation] { collation.map { [$0] } ?? [.raw, .unicode] }

    /// The name of the rows in one order. A name from an app has no zero in it.
    func indexName(in order: Collation) -> IndexName {
        let suffix = order == orders.first ? "" : Self.orderMark + order.rawValue
        return IndexName(.property, name + suffix)
    }

    /// Stands between the name of an index and an order that is not its first one.
    static let orderMark = "\u{0}"

    /// What is stored of the definition, as the version of the rows in one order.
    func definitionText(in order: Collation) -> String {
        var object: JSONObject = [
            "paths": .array(paths.map { .string($0) }), "collation": .string(order.rawValue),
        ]
        if let filter { object["filter"] = filter.json }
        if isPartitioned { object["partitioned"] = true }
        if orders.count > 1 { object["orders"] = .array(orders.map { .string($0.rawValue) }) }
        return JSONValue.object(object).description
    }

    /// Reads what is stored with the rows in the first order.
    init(named name: String, definitionText: String) throws {
        guard let json = try? JSONParser.parse(definitionText),
            let paths = json["paths"]?.array?.compactMap(\.string),
            let collation = json["collation"]?.string.flatMap(Collation.init(rawValue:))
        else { throw MalformedRow() }
        let filter = try json["filter"].map { try DocumentSelector(json: $0) }
        self.init(
            named: name, on: paths, collation: json["orders"] == nil ? collation : nil,
            filter: filter)
        isPartitioned = json["partitioned"]?.bool ?? false
    }

    /// The parsed paths.
    ///
    /// - Throws: `.invalidQuery` where a path is invalid, or several are of elements.
    func components() throws -> [IndexComponent] {
        guard !name.utf8.contains(0) else {
            throw DatabaseError.index(name, "has a zero character in its name")
        }
        let components = try paths.map { text in
            do throws(PropertyPath.Failure) { return try IndexComponent(text) } catch {
                throw DatabaseError.index(name, "has the path '\(text)': \(error.reason)")
            }
        }
        guard !components.isEmpty else { throw DatabaseError.index(name, "has no paths") }
        guard components.filter(\.isOfElements).count <= 1 else {
            throw DatabaseError.index(name, "has several paths of elements; use an index for each")
        }
        guard Set(components).count == components.count else {
            throw DatabaseError.index(name, "has a path twice")
        }
        return isPartitioned ? [.partition] + components : components
    }
}

/// What one part of an index's key is taken from: a property, or the elements of an array.
struct IndexComponent: Hashable, Sendable {
    /// The way to the property or array.
    var path: PropertyPath
    /// The way on from an element of the array; nil for a property.
    var element: PropertyPath?

    /// Whether it is no property, but the name of the document's partition.
    private(set) var isPartition = false

    var isOfElements: Bool { element != nil }

    /// The name of the document's partition.
    static let partition: IndexComponent = {
        var component = IndexComponent(.itself)
        component.isPartition = true
        return component
    }()

    /// A property.
    init(_ path: PropertyPath, element: PropertyPath? = nil) {
        self.path = path
        self.element = element
    }

    init(_ text: String) throws(PropertyPath.Failure) {
        guard let brackets = text.firstRange(of: "[]") else {
            self.init(try PropertyPath(text))
            return
        }
        let rest = text[brackets.upperBound...]
        guard rest.isEmpty || rest.hasBytePrefix("."), rest.firstRange(of: "[]") == nil else {
            throw .brackets
        }
        self.init(
            try PropertyPath(String(text[..<brackets.lowerBound])),
            element: try rest.isEmpty ? .itself : PropertyPath(String(rest.dropFirst())))
    }
}

extension DatabaseError {
    static func index(_ name: String, _ problem: String) -> DatabaseError {
        DatabaseError(.invalidQuery, "The index '\(name)' \(problem).")
    }
}
