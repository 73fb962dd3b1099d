// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Which connections are open, which of them are *silent*, and which one gives way to a new one.
///
/// A connection is silent while it does nothing for a client that is known: it waits for a request, or for the body of a
/// request whose sender has not shown who it is. The oldest silent one gives way of the network that has the most of
/// them, so a network that opens thousands loses its own. Among networks that have as many, the one that has had them
/// longest is taken.
///
/// Everything is done in the same time however many connections there are, since it is done for each new one, and by
/// the thread that serves all of them.
///
/// ## Invariants
///
/// 1. A network is in `byCount[n]` exactly while it has `n` silent connections, and `n` is not 0.
/// 2. `most` is the highest `n` of a network, or 0.
struct ConnectionTable: Sendable {
    private struct Network {
        /// Its connections that are open and were not shut down.
        var count = 0
        var silent = AgeOrder<Int>()
    }

    /// All that are open, those that were shut down among them until the library has noticed.
    private(set) var connections: [Int: OpenConnection] = [:]
    private var networks: [ExactString: Network] = [:]
    private var byCount: [Int: AgeOrder<ExactString>] = [:]
    private var most = 0
    /// How many are open and were not shut down.
    private(set) var count = 0

    /// Notes a new connection, which is silent.
    ///
    /// - Returns: How many its network has now.
    mutating func open(_ number: Int, _ connection: OpenConnection) -> Int {
        connections[number] = connection
        count += 1
        let name = ExactString(connection.network)
        networks[name, default: Network()].count += 1
        setSilent(number, of: name, true)
        return networks[name]?.count ?? 0
    }

    /// Notes that the library has closed a connection.
    mutating func close(_ number: Int) {
        guard let connection = connections.removeValue(forKey: number), !connection.isShut else {
            return
        }
        leave(number, connection)
    }

    /// Notes whether a connection is silent; it is the youngest of those that are, when it becomes so.
    mutating func setSilent(_ number: Int, _ isSilent: Bool) {
        guard let connection = connections[number], !connection.isShut else { return }
        setSilent(number, of: ExactString(connection.network), isSilent)
    }

    /// The connection that gives way next: of one network, or of the one that has the most; nil when none is silent.
    func next(of network: String?) -> Int? {
        let name = network.map { ExactString($0) } ?? byCount[most]?.oldest
        return name.flatMap { networks[$0]?.silent.oldest }
    }

    /// Counts a connection no more, since the caller shuts it down.
    mutating func shut(_ number: Int) -> OpenConnection? {
        guard let connection = connections[number], !connection.isShut else { return nil }
        leave(number, connection)
        connection.markShut()
        return connection
    }

    private mutating func leave(_ number: Int, _ connection: OpenConnection) {
        let name = ExactString(connection.network)
        setSilent(number, of: name, false)
        count -= 1
        networks[name]?.count -= 1
        if networks[name]?.count == 0 { networks[name] = nil }
    }

    private mutating func setSilent(_ number: Int, of name: ExactString, _ isSilent: Bool) {
        let before = networks[name]?.silent.count ?? 0
        if isSilent {
            networks[name]?.silent.append(number)
        } else {
            networks[name]?.silent.remove(number)
        }
        let after = networks[name]?.silent.count ?? 0
        guard after != before else { return }
        byCount[before]?.remove(name)
        if byCount[before]?.count == 0 { byCount[before] = nil }
        if after > 0 { byCount[after, default: AgeOrder()].append(name) }
        // By one at a time, so that the way down is one step, too.
        if after > most { most = after } else if before == most, byCount[most] == nil { most -= 1 }
    }

    /// Stops the process where an invariant does not hold; for tests.
    func checkInvariants() {
        for (name, network) in networks where network.silent.count > 0 {
            precondition(byCount[network.silent.count]?.contains(name) == true, "invariant 1")
        }
        let listed = byCount.values.reduce(0) { $0 + $1.count }
        precondition(listed == networks.values.count { $0.silent.count > 0 }, "invariant 1")
        precondition(most == networks.values.map(\.silent.count).max() ?? 0, "invariant 2")
    }
}
