// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

@Suite struct CollationScriptTests {
    @Test(arguments: GoldenScript.all(in: "collation"))
    func `values sort and encode as the script says`(script: GoldenScript) throws {
        try script.run(with: CollationInterpreter())
    }
}

/// Sorts the values of a block, one JSON text a line.
///
/// `order COLLATION` prints them in order, with `=` before one that collates as equal to the one
/// before. `keys COLLATION` prints their row keys beside them, and behind a plus how their numbers are
/// written.
private struct CollationInterpreter: ScriptInterpreter {
    private var collation = Collation.unicode
    private var showsKeys = false
    private var values: [(text: String, value: JSONValue)] = []

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        if command.name == "order" || command.name == "keys" {
            guard let named = command.arguments.first.flatMap(Collation.init) else {
                throw ScriptCommand.Unknown(command)
            }
            (collation, showsKeys) = (named, command.name == "keys")
        } else {
            values.append((command.text, try JSONParser.parse(command.text)))
        }
        return []
    }

    mutating func endBlock() -> [String] {
        let order = CollationSamples.order(collation)
        let sorted = values.sorted { order.compare($0.value, $1.value) < 0 }
        values = []
        if showsKeys { return sorted.map { "\(hex($0.value))  \($0.text)" } }
        return sorted.indices.map { index in
            let isTie =
                index > 0 && order.collatesAsEqual(sorted[index - 1].value, sorted[index].value)
            return (isTie ? "= " : "< ") + sorted[index].text
        }
    }

    private func hex(_ value: JSONValue) -> String {
        let (key, forms) = CollationSamples.encoding(value, collation)
        return forms.isEmpty ? hex(key) : "\(hex(key)) + \(hex(forms))"
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
