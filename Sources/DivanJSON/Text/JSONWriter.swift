// SPDX-License-Identifier: Apache-2.0

/// Writes JSON text.
///
/// ```swift
/// let text = JSONWriter.string(["name": "Ann"])               // {"name":"Ann"}
/// let page = JSONWriter.string(["name": "Ann"], pretty: true)  // two spaces a level
/// ```
///
/// What it writes, ``JSONParser`` reads back as an equal value: doubles get the fewest digits that
/// tell them apart, and always a point or an exponent. Slashes and characters outside ASCII
/// stand as they are. Keys keep the order of the object.
public enum JSONWriter {
    /// Appends a value's JSON text to bytes.
    public static func append(_ value: JSONValue, to bytes: inout [UInt8], pretty: Bool = false) {
        var sink = ByteSink(capacity: 256)
        sink.append(value, form: pretty ? .pretty : .compact, level: 0)
        sink.move(to: &bytes)
    }

    /// The JSON text of a value.
    public static func string(_ value: JSONValue, pretty: Bool = false) -> String {
        var bytes: [UInt8] = []
        append(value, to: &bytes, pretty: pretty)
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The three forms of JSON text that Divan writes.
enum TextForm {
    case compact
    case pretty
    /// The form that digests are taken over.
    case canonical

    var strings: StringStyle { self == .canonical ? .canonical : .plain }
    var doubles: DoubleStyle { self == .canonical ? .java : .plain }
}

extension ByteSink {
    /// Appends a value in one of the forms; the canonical one sorts keys.
    mutating func append(_ value: JSONValue, form: TextForm, level: Int) {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .integer(let value): append(number: value)
        case .unsigned(let value): append(number: value)
        case .double(let value): append(value, style: form.doubles)
        case .number(let value): append(value.text.utf8)
        case .string(let value): append(string: value, style: form.strings)
        case .array where level >= JSONValue.maximumDepth,
            .object where level >= JSONValue.maximumDepth:
            appendDeep(value, form: form, level: level)
        case .array(let elements):
            append(0x5B)
            for (index, element) in elements.enumerated() {
                separate(first: index == 0, form: form, level: level + 1)
                append(element, form: form, level: level + 1)
            }
            close(0x5D, isEmpty: elements.isEmpty, form: form, level: level)
        case .object(let properties):
            append(0x7B)
            let order = form == .canonical ? properties.sortedIndices : Array(properties.indices)
            for (place, index) in order.enumerated() {
                separate(first: place == 0, form: form, level: level + 1)
                append(string: properties.keys[index], style: form.strings)
                append(form == .pretty ? ": " : ":")
                append(properties.values[index], form: form, level: level + 1)
            }
            close(0x7D, isEmpty: properties.isEmpty, form: form, level: level)
        }
    }

    /// Appends a string with its quotes and escapes.
    mutating func append(string: String, style: StringStyle) {
        var string = string
        // SAFETY: the bytes are used within the closure.
        string.withUTF8 { unsafe append(string: $0, readable: $0.count, style: style) }
    }

    /// Appends what stands before an element.
    @inline(__always)
    mutating func separate(first: Bool, form: TextForm, level: Int) {
        if !first { append(0x2C) }
        if form == .pretty { breakLine(level: level) }
    }

    /// Appends a closing bracket.
    @inline(__always)
    mutating func close(_ bracket: UInt8, isEmpty: Bool, form: TextForm, level: Int) {
        if form == .pretty, !isEmpty { breakLine(level: level) }
        append(bracket)
    }

    private mutating func breakLine(level: Int) {
        append(0x0A)
        append(repeatElement(0x20, count: level * 2))
    }
}
