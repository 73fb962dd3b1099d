// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import DivanCommand

@Suite struct ProgressLineTests {
    private let line = ProgressLine(
        title: "Importing", completed: 50, total: 100, count: 2000, noun: "document",
        elapsed: .seconds(10))

    @Test func `a known total gives a bar, a percentage and the time left`() {
        let text = line.text(width: 80, unicode: false)
        #expect(text.hasPrefix("Importing  [##########"))
        #expect(text.hasSuffix("---]   50%  2,000 documents  200/s  0:10 left"))
        #expect(line.text(width: 80, unicode: true).contains("\u{2588}\u{2591}"))
    }

    @Test func `an unknown total gives count, rate and the time passed`() {
        var open = line
        open.total = nil
        #expect(open.text(width: 80, unicode: false) == "Importing  2,000 documents  200/s  0:10")
    }

    @Test(arguments: [0, 1, 10, 20, 40, 60, 79, 80, 200])
    func `a line never fills the width`(_ width: Int) {
        #expect(line.text(width: width, unicode: true).count <= max(0, width - 1))
    }

    @Test func `work beyond the total is all of it`() {
        var over = line
        over.completed = 300
        #expect(over.fraction == 1)
        #expect(over.text(width: 80, unicode: false).contains("100%"))
        over.total = 0
        #expect(over.fraction == nil)
    }

    @Test func `no rate is given before there is time to divide by`() {
        var early = line
        early.elapsed = .zero
        #expect(!early.text(width: 80, unicode: false).contains("/s"))
        #expect(early.summaryFigures == "2,000 documents in 0.00 s")
        #expect(line.summaryFigures == "2,000 documents in 10.00 s (200/s)")
    }
}

@Suite struct ProgressBarTests {
    /// A clock that moves when it is told to.
    private final class Clock: Sendable {
        let time = Mutex(Duration.zero)
        func advance(_ duration: Duration) { time.withLock { $0 += duration } }
        var now: Duration { time.withLock { $0 } }
    }

    private let clock = Clock()

    private func bar(_ output: Output) -> ProgressBar {
        ProgressBar("Working", noun: "step", output: output) { [clock] in clock.now }
    }

    private var interactive: Terminal {
        Terminal(isInteractive: true, width: 60, environment: [:], choice: .never)
    }

    @Test func `it draws ten times a second at most`() {
        let output = Output.inMemory(interactive)
        let bar = bar(output)
        for i in 1...1000 {
            clock.advance(.milliseconds(1))
            bar.update(count: i)
        }
        let drawings = output.err.contents.split(separator: "\r").count
        #expect(drawings == 10)
    }

    @Test func `it draws nothing on a pipe or when quiet`() {
        let pipe = Output.inMemory()
        bar(pipe).update(count: 1)
        #expect(pipe.err.contents.isEmpty)
        var quiet = Output.inMemory(interactive)
        quiet.isQuiet = true
        bar(quiet).update(count: 1)
        #expect(quiet.err.contents.isEmpty)
    }

    @Test func `a line above erases the bar, which comes back at once`() {
        let output = Output.inMemory(interactive)
        let bar = bar(output)
        bar.update(count: 1)
        bar.printAbove("Record 7 is bad.")
        bar.update(count: 2)
        let text = output.err.contents
        #expect(text.contains("\r\u{1B}[KRecord 7 is bad.\n\rWorking  2 steps"))
    }

    @Test func `finishing erases it and gives the last figures`() {
        let output = Output.inMemory(interactive)
        let bar = bar(output)
        bar.update(count: 1)
        clock.advance(.seconds(2))
        bar.update(count: 4)
        let line = bar.finish()
        #expect(output.err.contents.hasSuffix("\r\u{1B}[K"))
        #expect(line.summaryFigures == "4 steps in 2.00 s (2/s)")
    }
}
