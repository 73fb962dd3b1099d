// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanLogging
import Foundation
import Testing

@Suite final class RotatingFileSinkTests: Sendable {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "divan-log-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func path(_ name: String = "log") -> String {
        folder.appending(path: name).path(percentEncoded: false)
    }

    private func lines(_ name: String = "log") -> [String] {
        guard let text = try? String(contentsOfFile: path(name), encoding: .utf8) else { return [] }
        return text.split(separator: "\n").map { String($0.split(separator: ": ")[1]) }
    }

    private func entry(_ message: String) -> LogEntry {
        LogEntry(millisecondsSince1970: 0, domain: .database, level: .info, message: message)
    }

    @Test func `entries are appended, also by the next sink`() {
        RotatingFileSink(path: path()).write(entry("one"))
        RotatingFileSink(path: path()).write(entry("two"))
        #expect(lines() == ["one", "two"])
    }

    @Test(arguments: 1...4)
    func `a full file is set aside and the oldest goes`(_ count: Int) throws {
        let sink = RotatingFileSink(path: path(), maximumSize: 1_024, maximumCount: count)
        for number in 0..<1_000 { sink.write(entry("\(number)")) }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["log"] + (1..<count).map { "log.\($0)" })
        var numbers: [Int] = []
        for name in names.reversed() {
            let size = try FileManager.default.attributesOfItem(atPath: path(name))[.size]
            #expect((size as? Int ?? .max) <= 1_024)
            numbers += lines(name).compactMap { Int($0) }
        }
        // What is left are the newest entries, without a gap.
        #expect(numbers.last == 999)
        #expect(numbers == Array((1_000 - numbers.count)..<1_000))
    }

    @Test func `an entry larger than a file is written all the same`() {
        let sink = RotatingFileSink(path: path(), maximumSize: 1_024, maximumCount: 2)
        sink.write(entry("small"))
        sink.write(entry(String(repeating: "x", count: 5_000)))
        sink.write(entry("after"))
        #expect(lines() == ["after"])
        #expect(lines("log.1").first?.count == 5_000)
    }

    @Test func `a file that was renamed or deleted is made anew`() throws {
        let sink = RotatingFileSink(path: path())
        sink.write(entry("one"))
        try FileManager.default.moveItem(atPath: path(), toPath: path("moved"))
        sink.write(entry("two"))
        try FileManager.default.removeItem(atPath: path())
        sink.write(entry("three"))
        #expect(lines("moved") == ["one"])
        #expect(lines() == ["three"])
    }

    @Test func `a missing folder loses entries, and they are counted when it is there`() throws {
        let sink = RotatingFileSink(path: path("sub/log"))
        sink.write(entry("one"))
        sink.write(entry("two"))
        try FileManager.default.createDirectory(
            at: folder.appending(path: "sub"), withIntermediateDirectories: true)
        sink.write(entry("three"))
        #expect(
            lines("sub/log") == ["2 log entries are lost", "three"])
    }

    @Test func `a full disk loses entries, and they are counted when there is room`() throws {
        // Every write to this device fails for want of space.
        try FileManager.default.createSymbolicLink(
            atPath: path(), withDestinationPath: "/dev/full")
        let sink = RotatingFileSink(path: path())
        for number in 0..<100 { sink.write(entry("\(number)")) }
        try FileManager.default.removeItem(atPath: path())
        sink.write(entry("after"))
        #expect(lines() == ["100 log entries are lost", "after"])
    }

    @Test func `two sinks on one file write whole lines and keep to the limits`() throws {
        let path = path()
        DispatchQueue.concurrentPerform(iterations: 2) { writer in
            let sink = RotatingFileSink(path: path, maximumSize: 4_096, maximumCount: 3)
            for number in 0..<500 { sink.write(entry("\(writer)-\(number)")) }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(Set(names).isSubset(of: ["log", "log.1", "log.2"]))
        for name in names {
            for line in lines(name) {
                let parts = line.split(separator: "-").compactMap { Int($0) }
                #expect(parts.count == 2 && parts[0] < 2 && parts[1] < 500, "\(line)")
            }
        }
    }
}
