// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// An avahi-daemon on a host of a lab, with a message bus of its own, by which its programs speak to it.
///
/// It runs as its own user, as it does on a Debian machine.
final class AvahiDaemon: Sendable {
    private let lab: NetworkLab
    private let host: String
    private let address: String
    private let bus: LabProgram
    private let daemon: Mutex<LabProgram>

    init(_ lab: NetworkLab, on host: String) async throws {
        let folder = lab.folder.path
        let socket = "\(folder)/bus"
        try Self.busConfiguration(socket)
            .write(toFile: "\(folder)/bus.conf", atomically: true, encoding: .utf8)
        try Self.configuration.write(
            toFile: "\(folder)/avahi.conf", atomically: true, encoding: .utf8)
        address = "unix:path=\(socket)"
        bus = try lab.start(
            ["dbus-daemon", "--nofork", "--nopidfile", "--config-file=\(folder)/bus.conf"], on: host
        )
        await eventually { Machine.has(socket) }
        daemon = Mutex(try await Self.start(lab, on: host, address))
        (self.lab, self.host) = (lab, host)
    }

    /// Looks for services: lines of `avahi-browse`, with words parted by semicolons.
    func browse(_ type: String = "_divan._tcp") throws -> LabProgram {
        try start(["avahi-browse", "--resolve", "--parsable", "--no-db-lookup", type])
    }

    /// Announces a service until it is stopped, and waits until it has a name.
    @discardableResult
    func publish(
        _ name: String, type: String = "_divan._tcp", port: Int = 1_234, _ text: String...
    ) async throws -> LabProgram {
        let program = try start(["avahi-publish", "-s", name, type, "\(port)"] + text)
        await eventually { program.hasSaid("Established under name") }
        return program
    }

    /// Starts a Divan on the daemon's host, which uses the daemon.
    func divan() async throws -> DivanParty {
        try await DivanParty(
            lab, on: host, ["system"],
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": address, "AVAHI_COMPAT_NOWARN": "1"])
    }

    /// Ends the daemon. Its bus goes on.
    func stop() { daemon.withLock { $0 }.stop() }

    /// Starts the daemon again.
    func restart() async throws {
        let program = try await Self.start(lab, on: host, address)
        daemon.withLock { $0 = program }
    }

    private static func start(
        _ lab: NetworkLab, on host: String, _ bus: String
    ) async throws -> LabProgram {
        let daemon = try lab.start(
            [
                "avahi-daemon", "--no-rlimits", "--no-chroot",
                "--file=\(lab.folder.path)/avahi.conf",
            ],
            on: host, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus])
        await eventually { daemon.hasSaid("Server startup complete") }
        return daemon
    }

    private func start(_ command: [String]) throws -> LabProgram {
        try lab.start(command, on: host, environment: ["DBUS_SYSTEM_BUS_ADDRESS": address])
    }

    /// A name as `avahi-browse` writes it: letters, digits, `-` and `_` as they are, a dot and a backslash behind a backslash, other
    /// bytes as a backslash and three digits.
    static func escaped(_ name: String) -> String {
        name.utf8.map { byte in
            let letter = Character(Unicode.Scalar(byte))
            if byte == UInt8(ascii: ".") || byte == UInt8(ascii: "\\") { return "\\\(letter)" }
            let isPlain = letter.isASCII && (letter.isLetter || letter.isNumber || letter == "-")
            return isPlain || letter == "_" ? "\(letter)" : "\\" + "00\(byte)".suffix(3)
        }.joined()
    }

    private static let configuration = """
        [server]
        host-name=foreign
        use-ipv4=yes
        use-ipv6=yes
        [publish]
        publish-hinfo=no
        publish-workstation=no
        """

    private static func busConfiguration(_ socket: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
            "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
            <listen>unix:path=\(socket)</listen>
            <auth>EXTERNAL</auth>
            <policy context="default">
                <allow user="*"/>
                <allow own="*"/>
                <allow send_destination="*"/>
                <allow receive_sender="*"/>
            </policy>
        </busconfig>
        """
    }
}
