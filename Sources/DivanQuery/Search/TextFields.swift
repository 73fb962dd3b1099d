// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// What a document has in a text index of `_find`: its values by their paths, all its texts together, and which fields it has.
struct TextFields {
    private let definition: TextDefinition
    private var found: [SearchField] = []
    private var names: NameSet = []
    /// How many bytes of names and values are left; what is behind them is not found.
    private var bytesLeft = mostBytes

    /// The most bytes of a document's names and values, with some for each of them: a short one may have a long path.
    private static let mostBytes = 4 << 20

    private init(_ definition: TextDefinition) { self.definition = definition }

    /// The fields of a document.
    static func of(_ document: Document, in definition: TextDefinition) -> [SearchField] {
        var fields = TextFields(definition)
        // Its ID is a row of its own in every search index.
        let id = TextField.name([SearchKey.identifier], .string)
        if definition.hasDefault, definition.fields?.contains(id) ?? true {
            fields.found.append(
                SearchField(TextField.all, .words(document.id.text), isSorted: false))
        }
        document.body.forEachProperty { name, value in
            guard name.utf8.first != UInt8(ascii: "_") else { return }
            fields.add(value, TextField.escaped(name))
        }
        for name in fields.names {
            fields.found.append(SearchField(TextField.names, .text(name), isSorted: false))
        }
        return fields.found
    }

    private mutating func add(_ value: PackedValue, _ path: String) {
        bytesLeft -= path.utf8.count + 64
        guard bytesLeft > 0 else { return }
        if definition.fields == nil { names.insert(TextField.name(path, .any)) }
        switch value.kind {
        case .string:
            guard let text = value.string, let name = name(path, .string) else { return }
            bytesLeft -= text.utf8.count
            found.append(SearchField(name, .words(text), isSorted: true))
            if definition.hasDefault {
                found.append(SearchField(TextField.all, .words(text), isSorted: false))
            }
        case .bool:
            guard let flag = value.bool, let name = name(path, .boolean) else { return }
            found.append(SearchField(name, .text(flag ? "true" : "false"), isSorted: false))
        case .integer, .unsigned, .double, .number:
            // A number beyond the range of the index is there, too.
            guard let name = name(path, .number), let number = value.double, number.isFinite
            else { return }
            found.append(SearchField(name, .number(number), isSorted: true))
        case .null: _ = name(path, .null)
        case .array:
            let path = path + "." + TextField.element
            if definition.hasLengths {
                let name = TextField.name(path, .length)
                found.append(SearchField(name, .number(Double(value.count)), isSorted: false))
            }
            value.forEachElement { add($0, path) }
        case .object:
            value.forEachProperty { name, value in
                // Before the path is made, which may be long.
                guard bytesLeft > 0 else { return }
                add(value, path + "." + TextField.escaped(name))
            }
        }
    }

    /// The name of a field, which the document then has; nil when the index leaves it out.
    private mutating func name(_ path: String, _ kind: TextField.Kind) -> String? {
        let name = TextField.name(path, kind)
        guard definition.fields?.contains(name) ?? true else { return nil }
        names.insert(name)
        return name
    }
}
