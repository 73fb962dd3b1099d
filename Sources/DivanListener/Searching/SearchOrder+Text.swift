// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

extension SearchOrder {
    /// Reads an order as clients write it: `-price<number>`, `<score>`.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - service: For `_search` a field without a type has numbers, and `<score>` begins with the best match; for `_nouveau` a
    ///     field has what it has, `-<score>` does, and `_id` stands for the IDs of documents.
    /// - Throws: `HTTPFailure` 400.
    init(_ text: String, for service: SearchService) throws {
        let isNegative = text.hasBytePrefix("-")
        let rest =
            isNegative || text.hasBytePrefix("+")
            ? text.afterBytePrefix(isNegative ? "-" : "+") ?? "" : text
        switch rest {
        case "<score>":
            self.init(.score, isDescending: (service == .nouveau) == isNegative)
        case "<doc>" where service == .clouseau:
            self.init(.document, isDescending: isNegative)
        case "_id" where service == .nouveau, "_id<string>" where service == .nouveau:
            self.init(.document, isDescending: isNegative)
        default:
            let (field, type) = try Self.field(rest)
            let kind: Kind
            switch (type, service) {
            case ("number"?, .clouseau), ("double"?, .nouveau), (nil, .clouseau): kind = .number
            case ("string"?, _): kind = .text
            case (nil, .nouveau): kind = .any
            default:
                throw HTTPFailure.badRequest(
                    "A sort parameter has a type that is not served; use <number> or <string>.")
            }
            self.init(.field(field, kind), isDescending: isNegative)
        }
    }

    /// The parts of `price<number>`.
    ///
    /// - Throws: `HTTPFailure` 400.
    static func field(_ text: String) throws -> (name: String, type: String?) {
        let parts = text.utf8.split(
            separator: UInt8(ascii: "<"), maxSplits: 1, omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
        guard let name = parts.first, !name.isEmpty else {
            throw HTTPFailure.badRequest("A sort parameter names no field.")
        }
        guard parts.count == 2 else { return (name, nil) }
        guard parts[1].hasByteSuffix(">") else {
            throw HTTPFailure.badRequest(
                "A sort parameter has no type behind its name; write `name<string>` or `name<number>`."
            )
        }
        return (name, String(Substring(parts[1].utf8.dropLast())))
    }
}
