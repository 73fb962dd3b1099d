// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// Hosts of one network, each a network namespace of this machine with an interface `eth0`.
///
///      ann: eth0 ── ann ┐
///                       ├ bridge0, or a relay that loses and delays frames
///      bob: eth0 ── bob ┘
///
/// The first host has the addresses 192.0.2.1 and 2001:db8::1, the second one 192.0.2.2 and 2001:db8::2, and so on; all have an address
/// of the link.
///
/// The ends in the middle, and the names of the hosts, lie in a namespace of the lab's own, so labs do not meet. All of it goes when
/// the process that keeps it ends, and that ends with its input: with this object, or with the tests.
final class NetworkLab: Sendable {
    /// How the hosts are joined.
    enum Joint: Sendable {
        /// By a bridge.
        case bridge
        /// Two hosts by a relay, which loses a share of all frames and delays each by so many seconds at most.
        case relay(loss: Double, delay: Double, seed: UInt64)
    }

    /// Which addresses hosts have.
    enum Family: Sendable, CaseIterable {
        case ipv4, ipv6, both
    }

    /// What a test says that is skipped.
    static let need: Comment =
        "It needs network namespaces, so root, and what scripts/bootstrap --tests installs: Avahi, python3-zeroconf and iproute2."

    /// The interpreter that has the module zeroconf; nil where none has.
    static let python = ["/usr/bin/python3", Machine.program("python3") ?? ""].first {
        (try? ChildProcess($0, ["-c", "import zeroconf"], error: .null).wait()) == 0
    }

    /// Whether this machine has the programs, and permits namespaces; it is tried once.
    static let isAllowed: Bool = {
        let programs = [
            "avahi-daemon", "avahi-browse", "avahi-publish", "dbus-daemon", "ip", "nsenter",
        ]
        guard Machine.isSuperuser, python != nil, dlopen("libdns_sd.so.1", RTLD_LAZY) != nil,
            programs.allSatisfy({ Machine.program($0) != nil })
        else { return false }
        let trial = """
            mount -t tmpfs none /run && ip link add name bridge0 type bridge \\
                && ip netns add trial && ip netns exec trial true
            """
        let words = ["-n", "-m", "sh", "-c", trial]
        return (try? ChildProcess("unshare", words, error: .null).wait()) == 0
    }()

    private static let script = """
        set -e
        joint=$1 family=$2; shift 2
        mount -t tmpfs none /run
        ip link add name bridge0 type bridge mcast_snooping 0
        ip link set bridge0 addrgenmode none up
        number=0
        for host; do
            number=$((number + 1))
            ip netns add "$host"
            ip link add name "$host" type veth peer name eth0 netns "$host"
            ip link set "$host" addrgenmode none up
            [ "$joint" = relay ] || ip link set "$host" master bridge0
            [ "$family" != ipv4 ] || ip -n "$host" link set eth0 addrgenmode none
            ip -n "$host" link set lo up
            ip -n "$host" link set eth0 up
            [ "$family" = ipv6 ] || ip -n "$host" address add "192.0.2.$number/24" dev eth0
            [ "$family" = ipv4 ] || ip -n "$host" address add "2001:db8::$number/64" dev eth0 nodad
        done
        echo ready
        read -r _
        """

    /// Where files of its programs lie.
    let folder: ScratchDirectory
    private let keeper: LabProgram
    private let relay: LabProgram?
    /// They end with the lab, at the latest.
    private let programs = Mutex<[LabProgram]>([])

    /// Makes hosts and joins them.
    init(
        _ hosts: String..., family: Family = .both, joint: Joint = .bridge
    ) async throws {
        folder = try ScratchDirectory()
        let isBridged = if case .bridge = joint { true } else { false }
        keeper = try LabProgram(
            ["unshare", "-n", "-m", "sh", "-c", Self.script, "sh"]
                + [isBridged ? "bridge" : "relay", "\(family)"] + hosts,
            isGuarded: false, output: "\(folder.path)/keeper")
        let keeper = keeper
        try #require(await eventually { keeper.hasSaid("ready") || !keeper.process.isRunning })
        try #require(keeper.hasSaid("ready"), "\(keeper.lines)")
        guard case .relay(let loss, let delay, let seed) = joint else {
            relay = nil
            return
        }
        let words =
            Self.inside(keeper) + ["python3", Self.file("relay.py")]
            + hosts + ["\(loss)", "\(delay)", "\(seed)"]
        let relay = try LabProgram(words, isGuarded: true, output: "\(folder.path)/relay")
        self.relay = relay
        await eventually { relay.hasSaid("ready") }
    }

    /// The path of a file beside this one.
    static func file(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: name).path
    }

    private static func inside(_ keeper: LabProgram) -> [String] {
        ["nsenter", "-t", "\(keeper.process.identifier)", "-n", "-m"]
    }

    /// Starts a program on a host. It is `guarded` unless it ends with its input.
    func start(
        _ command: [String], on host: String, isGuarded: Bool = true,
        environment: [String: String] = [:]
    ) throws -> LabProgram {
        let program = try LabProgram(
            Self.inside(keeper) + ["ip", "netns", "exec", host] + command, isGuarded: isGuarded,
            output: "\(folder.path)/\(UUID().uuidString)", environment: environment)
        programs.withLock { $0.append(program) }
        return program
    }

    /// Starts a Divan on a host, as root or another user.
    func divan(on host: String, as user: Int? = nil) async throws -> DivanParty {
        try await DivanParty(self, on: host, user.map { ["\($0)"] } ?? [])
    }

    /// Changes the network of a host: `lab.ip("link", "set", "eth0", "down", on: "ann")`.
    func ip(_ words: String..., on host: String) throws {
        let command = Self.inside(keeper) + ["ip", "-n", host] + words
        let status = try ChildProcess(command[0], Array(command.dropFirst())).wait()
        try #require(status == 0, "ip \(words) on \(host)")
    }

    /// Pulls the cable of a host, or puts it in.
    func plug(_ host: String, _ isPlugged: Bool) throws {
        let command =
            Self.inside(keeper) + ["ip", "link", "set", host, isPlugged ? "up" : "down"]
        let status = try ChildProcess(command[0], Array(command.dropFirst())).wait()
        try #require(status == 0, "the cable of \(host)")
    }
}
