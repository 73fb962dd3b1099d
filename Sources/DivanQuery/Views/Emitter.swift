// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanIndex
internal import DivanJSON

/// Adds rows to an index for the document that is being mapped.
///
/// ```swift
/// view.setMap(version: "1") { document, emit in
///     emit(document["owner"])
///     emit([document["date"], document["title"]], 1)
/// }
/// ```
///
/// A key is any JSON value. An absent property is emitted as null. A value is any JSON value or nil,
/// which takes no space; since the document is found from the row, there is seldom a need for more.
///
/// A document that emits a key of more than 1 MB, a value of more than 8 MB, nesting over 512
/// levels, NaN or an infinity is skipped and reported by the view: see ``DatabaseView/failures``.
///
/// An emitter is valid only inside the map function that it is given to, on the same thread.
public struct Emitter {
    let sink: EmissionSink

    /// Adds a row whose key is a property of the document.
    public func callAsFunction(_ key: Fragment, _ value: (any JSONConvertible)? = nil) {
        sink.emit(key, packed(value))
    }

    /// Adds a row.
    public func callAsFunction(
        _ key: any JSONConvertible, _ value: (any JSONConvertible)? = nil
    ) {
        if let key = key as? Fragment { return sink.emit(key, packed(value)) }
        guard isNumber(key) else { return sink.fail(.notANumber) }
        sink.emit(key.jsonValue, packed(value))
    }

    private func packed(_ value: (any JSONConvertible)?) -> PackedValue? {
        guard let value else { return nil }
        if let packed = (value as? Fragment)?.packed { return packed }
        guard isNumber(value) else {
            sink.fail(.notANumber)
            return nil
        }
        let json = value.jsonValue
        guard json.isNested(atMost: JSONValue.deepestStored) else {
            sink.fail(.nesting)
            return nil
        }
        guard json.isFinite else {
            sink.fail(.notANumber)
            return nil
        }
        return PackedValue(json)
    }

    /// False for a bare NaN or infinity, which would become null.
    private func isNumber(_ value: any JSONConvertible) -> Bool {
        switch value {
        case let value as Double: value.isFinite
        case let value as Float: value.isFinite
        default: true
        }
    }
}
