// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanSystem
import Testing

@Suite struct WatcherTests {
    private let folder: TemporaryFolder
    private let queue = DispatchQueue(label: "divan.system.tests")

    init() throws { folder = try TemporaryFolder() }

    @Test func `a handler is called for each write, sooner than the timer calls it`() throws {
        let path = try folder.make([1])
        let file = try FileHandle(path: path, .write)
        let watcher = FileWatcher(path)
        let isCalled = DispatchSemaphore(value: 0)
        watcher.start(on: queue) { isCalled.signal() }
        defer { watcher.stop() }
        let start = ContinuousClock.now
        for round in 1...12 {
            try file.overwrite([UInt8(round)])
            #expect(isCalled.wait(timeout: .now() + 60) == .success)
        }
        // The timer alone, which calls every five seconds, would take a minute.
        #expect(ContinuousClock.now - start < .seconds(50))
    }

    @Test func `a file that is not there is looked at by the timer only`() throws {
        let watcher = FileWatcher(folder.file("none"))
        let isCalled = DispatchSemaphore(value: 0)
        watcher.start(on: queue) { isCalled.signal() }
        defer { watcher.stop() }
        #expect(isCalled.wait(timeout: .now() + 60) == .success)
    }

    @Test func `a watcher that was stopped does not start`() throws {
        let path = try folder.make([1])
        let watcher = FileWatcher(path)
        watcher.stop()
        watcher.start(on: queue) { Issue.record("It was called.") }
        try FileHandle(path: path, .write).overwrite([2])
        queue.sync {}
    }
}
