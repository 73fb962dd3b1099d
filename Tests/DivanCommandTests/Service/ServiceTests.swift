// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// `divan serve` as a service manager runs it.
@Suite struct ServiceTests {
    private let tool: TestTool

    init() throws { tool = try TestTool() }

    /// The socket at which a service manager listens.
    private final class Notices {
        let path: String
        private let descriptor: Int32

        init(_ path: String) throws {
            self.path = path
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let bound = withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(bound == 0)
            var limit = timeval(tv_sec: 240, tv_usec: 0)
            setsockopt(
                descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }

        deinit { close(descriptor) }

        /// The next notice; empty when none comes.
        func next() -> String {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        }
    }

    /// The path of a socket, which is shorter than those of the tests' folders may be.
    private func notices() throws -> Notices {
        let folder = FileManager.default.temporaryDirectory.path
        return try Notices("\(folder)/n\(UInt32.random(in: 0 ... .max))")
    }

    @Test func `a service manager is told when it serves, reads its options again and ends`()
        throws
    {
        let notices = try notices()
        defer { unlink(notices.path) }
        try tool.write("everybody\nport = 0\n# pages\ncors = https://a.example\n", to: "serve.conf")
        let child = try tool.start(
            ["serve", "data", "--options", "serve.conf"],
            environment: ["NOTIFY_SOCKET": notices.path])
        let address = try #require(child.address())
        #expect(notices.next() == "READY=1\nSTATUS=Listening on \(address.url)")
        #expect(try origin(address.port) == "https://a.example")

        try tool.write("everybody\nport = 0\ncors = https://b.example\n", to: "serve.conf")
        child.process.signal(SIGHUP)
        #expect(notices.next().hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        #expect(notices.next() == "READY=1\nSTATUS=Listening on \(address.url)")
        #expect(try origin(address.port) == "https://b.example")

        for (wrong, complaint) in [
            ("everybody\nprot = 1\n", "line 2: Unknown option --prot. Did you mean --port?"),
            ("everybody\nport = 0\nread-only\n", "--read-only changes when the service starts"),
            ("everybody\nport = 70000\n", "--port takes a number up to 65535."),
            ("everybody\nport = 1\n", "--host and --port change when the service starts"),
            ("everybody\nport = 0\nlog = loud\n", "--log takes LEVEL or DOMAIN=LEVEL"),
        ] {
            try tool.write(wrong, to: "serve.conf")
            child.process.signal(SIGHUP)
            #expect(notices.next().hasPrefix("RELOADING=1"))
            #expect(notices.next().hasPrefix("READY=1"))
            #expect(try origin(address.port) == "https://b.example")
            eventually {
                (try? String(contentsOf: child.err, encoding: .utf8))?.contains(complaint) == true
            }
        }
        child.process.signal(SIGTERM)
        #expect(notices.next() == "STOPPING=1")
        #expect(try child.wait().status == 0)
    }

    /// The origin whose pages are let in: that of one of two that ask.
    private func origin(_ port: UInt16) throws -> String? {
        for origin in ["https://a.example", "https://b.example"] {
            let answer = try ChildProcess.output(
                of: "bash",
                [
                    "-c",
                    "exec 3<>/dev/tcp/127.0.0.1/\(port); "
                        + "printf 'GET / HTTP/1.0\\r\\nHost: localhost\\r\\nOrigin: \(origin)\\r\\n\\r\\n' >&3; "
                        + "cat <&3",
                ])
            if answer.contains("Access-Control-Allow-Origin: \(origin)") { return origin }
        }
        return nil
    }

    @Test func `a socket that a service manager hands over is served, before any port`() throws {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listening) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listening, $0, length) == 0 && getsockname(listening, $0, &length) == 0
            }
        }
        try #require(bound)
        let port = UInt16(bigEndian: address.sin_port)
        func serve(_ options: String) throws -> TestTool.Result {
            try tool.write("", to: "out")
            try tool.write("", to: "err")
            let child = try ChildProcess(
                "/bin/sh",
                [
                    "-c",
                    "exec 3<&0 0</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" serve data \(options)",
                    TestTool.executable.path,
                ], in: tool.directory.path, environment: ["PATH": "/usr/bin:/bin"],
                input: .descriptor(listening), output: .file(tool.path("out")),
                error: .file(tool.path("err")))
            try eventually { try !tool.read("out").isEmpty || !child.isRunning }
            if child.isRunning {
                #expect(WireClient(port: port).send("GET", "/") == 200)
                child.signal(SIGTERM)
            }
            return TestTool.Result(
                status: child.wait(), out: try tool.read("out"), err: try tool.read("err"))
        }
        // It does not listen yet.
        let refused = try serve("--everybody")
        #expect(refused.status == 1)
        #expect(refused.err.contains("The socket that the service manager hands over"))
        try #require(listen(listening, 16) == 0)
        for _ in 0..<2 {
            let served = try serve("--everybody --port 1")
            #expect(served.status == 0)
            #expect(served.lines.first == "http://127.0.0.1:\(port)/")
        }
    }

    @Test func `options on the command line go before those of the file`() throws {
        try tool.write("  everybody  \nport=99999\n\n", to: "serve.conf")
        #expect(try tool.run("serve", "data", "--options", "serve.conf").status == 2)
        let child = try tool.start(["serve", "data", "--options", "serve.conf", "-p", "0"])
        #expect(child.address() != nil)
        child.process.signal(SIGTERM)
        #expect(try child.wait().status == 0)
        #expect(try tool.run("serve", "data", "--options", "none.conf").status == 1)
        try tool.write("everybody = yes\n", to: "serve.conf")
        let flag = try tool.run("serve", "data", "--options", "serve.conf")
        #expect(flag.err.contains("serve.conf, line 1: --everybody is a flag and takes no value."))
        for line in ["options = other.conf", "help"] {
            try tool.write(line + "\n", to: "serve.conf")
            let refused = try tool.run("serve", "data", "--options", "serve.conf")
            #expect(refused.err.contains(" can only stand on the command line."), "\(line)")
        }
        try tool.write("hello\n", to: "serve.conf")
        let unknown = try tool.run("serve", "data", "--options", "serve.conf")
        #expect(unknown.err.contains("Unknown option --hello."))
        for line in ["user ann:secret", "user: ann:secret", "= secret", "user = \"ann:secret\""] {
            try tool.write("\n" + line + "\n", to: "serve.conf")
            let refused = try tool.run("serve", "data", "--options", "serve.conf")
            #expect(refused.status == 2)
            #expect(refused.err.contains("serve.conf, line 2: ") && !refused.err.contains("secret"))
        }
        try tool.write(
            "\u{FEFF}# options\r\n  everybody\r\nport\t= 0 \r\nquiet\ncolor = never\n",
            to: "serve.conf"
        )
        let marked = try tool.start(["serve", "data", "--options", "serve.conf"])
        #expect(marked.address() != nil)
        marked.process.signal(SIGTERM)
        #expect(try marked.wait().status == 0)
        try Data([0xFF, 0x0A]).write(to: tool.directory.appendingPathComponent("serve.conf"))
        #expect(try tool.run("serve", "data", "--options", "serve.conf").status == 6)
    }

    @Test func `a second signal ends it at once`() throws {
        let child = try tool.start(["serve", "data", "--port", "0", "--everybody"])
        let address = try #require(child.address())
        let client = WireClient(port: address.port)
        let descriptor = try #require(client.open())
        defer { close(descriptor) }
        // The server breaks a body off that is not there after half a minute.
        let start = ContinuousClock.now
        client.write(
            Array("PUT /db HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{".utf8),
            to: descriptor)
        #expect(client.send("GET", "/_up") == 200)
        child.process.signal(SIGTERM)
        // Its socket is closed at once, and it waits for the body.
        eventually { client.open().map { close($0) } == nil }
        child.process.signal(SIGTERM)
        let isInTime = start.duration(to: .now) < .seconds(15)
        let status = try child.wait().status
        // On a machine that was busy for so long it may have waited to the end.
        #expect(status == ExitCode.interrupted.rawValue || (!isInTime && status == 0))
    }

    @Test func `what goes to the journal has its level in front, and no time`() throws {
        // The journal is whatever has the device and inode that the variable says.
        let script =
            "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec \"$0\" serve data --everybody --port 0"
            + " --log listener=info"
        try tool.write("", to: "out")
        try tool.write("", to: "err")
        try FileManager.default.createDirectory(
            atPath: tool.path("data"), withIntermediateDirectories: false)
        let child = try ChildProcess(
            "/bin/sh", ["-c", script, TestTool.executable.path], in: tool.directory.path,
            environment: ["PATH": "/usr/bin:/bin"], output: .file(tool.path("out")),
            error: .file(tool.path("err")))
        try eventually { try tool.read("out").contains("\n") }
        child.signal(SIGTERM)
        #expect(child.wait() == 0)
        let lines = try tool.read("err").split(separator: "\n")
        #expect(lines.first?.hasPrefix("<6>listener: Listening on port ") == true)
        #expect(lines.allSatisfy { !$0.contains("Divan:") })
        let other = try tool.start(
            ["serve", "data", "--everybody", "--port", "0", "--log", "listener=info"],
            environment: ["JOURNAL_STREAM": "1:2"])
        #expect(other.address() != nil)
        other.process.signal(SIGTERM)
        #expect(try other.wait().err.hasPrefix("Divan: "))
    }
}
