// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Testing

/// What parsing the worst texts takes, measured as the growth of a process, beside what is reserved for it.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ParsingWeightTests {
    /// What a process grows by whatever it does.
    private static let noise = 2_048

    @Test(
        .enabled(if: Machine.has("/proc/self/clear_refs"), "It needs /proc."),
        .disabled(if: Sanitizer.isOn, "A sanitizer keeps what was freed."),
        arguments: JSONWeight.Form.allCases, WorstText.all)
    func `a text takes no more memory than is reserved for it`(
        form: JSONWeight.Form, text: String
    ) async throws {
        let size = Soak.isOn ? 16 << 20 : 1 << 20
        let (lines, status) = try await offPool {
            let child = try TestChild("weigh", form.rawValue, text, "\(size)")
            return (child.readLines(), child.wait())
        }
        // Some texts are no selectors.
        if form == .selector, status != 0 { return }
        #expect(status == 0)
        let grown = try #require(
            lines.last?.firstMatch(of: /grown (-?\d+) kB/).flatMap { Int($0.1) }, "\(lines)")
        let weight = JSONWeight(WorstText.text(text, size).span)
        let reserved = JSONWeight.cost(bytes: weight.bytes, values: weight.values, as: form)
        #expect(grown <= reserved >> 10 + Self.noise, "\(grown) kB, \(reserved >> 10) reserved")
    }
}
