// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport

/// What a text takes of memory when it is parsed, in the form that a route gives it.
///
///     grown 41320 kB
struct ParsingWeight {
    /// What becomes of the text.
    enum Form: String { case packed, values, selector }

    private let form: Form
    private let text: [UInt8]

    init(_ arguments: [String]) throws {
        guard let form = Form(rawValue: try arguments.argument(0)) else { throw WrongArguments() }
        self.form = form
        text = try WorstText.text(arguments.argument(1), arguments.number(2))
    }

    func run() throws {
        // What is made once is no part of it.
        _ = try PackedValue(parsing: Array("{}".utf8))
        let before = Memory.kilobytes("VmRSS")
        Memory.resetPeak()
        switch form {
        case .packed:
            let value = try PackedValue(parsing: text)
            Report.say("grown \(Memory.kilobytes("VmHWM") - before) kB")
            withExtendedLifetime(value) {}
        case .values:
            let value = try JSONParser.parse(text)
            Report.say("grown \(Memory.kilobytes("VmHWM") - before) kB")
            withExtendedLifetime(value) {}
        case .selector:
            let selector = try DocumentSelector(json: JSONParser.parse(text))
            Report.say("grown \(Memory.kilobytes("VmHWM") - before) kB")
            withExtendedLifetime(selector) {}
        }
    }
}
