// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanSystem
import DivanTestSupport
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite struct ProcessTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `a thread runs its closure, under another number`() throws {
        let number = Mutex<UInt>(0)
        let isDone = DispatchSemaphore(value: 0)
        try DetachedThread.start {
            number.withLock { $0 = ThreadIdentity.current }
            isDone.signal()
        }
        #expect(isDone.wait(timeout: .now() + 60) == .success)
        let other = number.withLock { $0 }
        #expect(other != 0 && other != ThreadIdentity.current)
    }

    @Test func `a process that closes its output and goes on is ended`() throws {
        let process = try PairedProcess(
            "/bin/sh", ["-c", "exec 0<&- 1>&-; exec sleep 600"])
        var buffer = [UInt8](repeating: 0, count: 16)
        _ = process.wait(orRoom: false, milliseconds: 60_000)
        #expect(try process.receive(into: &buffer) == 0)
        #expect(process.ended() == .signal(SIGKILL))
        let other = try PairedProcess(
            "/bin/sh", ["-c", "exec 0<&- 1>&-; exit 7"])
        #expect(other.ended() == .exit(7))
    }

    @Test func `a signal that is watched runs its closure each time`() throws {
        let told = Counter()
        try Signals.watch(SIGUSR2) { told.add() }
        for number in 1...50 {
            #expect(kill(getpid(), SIGUSR2) == 0)
            eventually { told.value == number }
        }
    }

    @Test func `this process is alive, and no process has the largest number`() {
        #expect(CurrentProcess.isAlive(CurrentProcess.number))
        #expect(!CurrentProcess.isAlive(.max))
    }

    @Test func `a variable that is not set is nil`() {
        #expect(CurrentProcess.environmentVariable("PATH") != nil)
        #expect(CurrentProcess.environmentVariable("DIVAN_IS_NOT_SET") == nil)
    }

    @Test func `a shell sees its argument and tells its status`() throws {
        let path = folder.file("name with spaces")
        #expect(try Shell.run("printf x > \"$1\"; exit 7", argument: path) == 7)
        #expect(try Files.read(path) == Array("x".utf8))
        #expect(try Shell.run("kill -9 $$", argument: "") == 128 + 9)
    }

    @Test func `a temporary file is new, and its descriptor takes bytes`() throws {
        let (descriptor, path) = try Descriptors.openTemporaryFile(
            prefix: folder.file("t-"), suffix: ".json")
        defer { Descriptors.close(descriptor) }
        try Descriptors.writeAll([1, 2, 3].span, to: descriptor)
        #expect(path.hasSuffix(".json"))
        #expect(Descriptors.regularFileSize(descriptor) == 3)
        #expect(!TerminalDevice.isTerminal(descriptor))
        #expect(TerminalDevice.width(descriptor) == nil)
    }

    @Test func `a time of day is universal time`() throws {
        let time = try #require(UniversalTime(secondsSince1970: 951_782_399))
        #expect([time.year, time.month, time.day] == [2000, 2, 28])
        #expect([time.hour, time.minute, time.second] == [23, 59, 59])
        #expect(UniversalTime(secondsSince1970: -1)?.year == 1969)
    }

    @Test func `the clocks agree`() {
        let seconds = WallClock.secondsSince1970
        let milliseconds = WallClock.millisecondsSince1970
        #expect((0...600_000).contains(milliseconds - seconds * 1_000))
        #expect(CoarseTime.now.isWithin(milliseconds: 600_000))
        #expect(!CoarseTime().isWithin(milliseconds: 1))
    }
}
