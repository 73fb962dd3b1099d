// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Which connections are open, which of them are *silent*, and which one gives way to a new one.
///
/// A connection is silent while it does nothing for a client that is known: it waits for a request, for the body of a
/// request whose sender has not shown who it is, or for such a sender to take its answer. The oldest silent one gives way
/// of the network that has the most of them, so a network that opens thousands loses its own. Where only the new one is
/// silent, a *stranger* gives way whose password is being checked, say: the oldest of the network with the most strangers, if
/// that network has more than the new one's. What is done for a client that has shown who it is is never broken off.
///
/// Everything is done in the same time however many connections there are, since it is done for each new one, and by
/// the thread that serves all of them.
struct ConnectionTable: Sendable {
    /// All that are open, those that were shut down among them until the library has noticed.
    private(set) var connections: [Int: OpenConnection] = [:]
    /// Those that were not shut down.
    private var open = NetworkOrder()
    private var silent = NetworkOrder()
    /// Those that do nothing for a client that is known.
    private var strangers = NetworkOrder()
    /// How many are open and were not shut down.
    private(set) var count = 0

    /// Notes a new connection, which is silent.
    ///
    /// - Returns: How many its network has now.
    mutating func open(_ number: Int, _ connection: OpenConnection) -> Int {
        connections[number] = connection
        count += 1
        let network = ExactString(connection.network)
        open.set(number, of: network, true)
        silent.set(number, of: network, true)
        strangers.set(number, of: network, true)
        return open.count(of: network)
    }

    /// Notes that the library has closed a connection.
    mutating func close(_ number: Int) {
        guard let connection = connections.removeValue(forKey: number), !connection.isShut else {
            return
        }
        leave(number, connection)
    }

    /// Notes whether a connection is silent, and else whether its client is known; it is the youngest of those that are, when
    /// it becomes so.
    mutating func setSilent(_ number: Int, _ isSilent: Bool, isKnown: Bool = false) {
        guard let connection = connections[number], !connection.isShut else { return }
        let network = ExactString(connection.network)
        silent.set(number, of: network, isSilent)
        strangers.set(number, of: network, isSilent || !isKnown)
    }

    /// The silent connection that gives way first; nil when none is silent.
    var oldestSilent: Int? { silent.largest.flatMap { silent.oldest(of: $0) } }

    /// The connection that gives way to a new one, which may be the new one itself.
    ///
    /// - Parameters:
    ///   - number: The new one.
    ///   - isOwn: Whether it is to be one of the same network.
    ///   - spared: Networks that lose nothing but what is silent.
    /// - Returns: Its number.
    func victim(for number: Int, isOwn: Bool, sparing spared: NameSet) -> Int {
        guard let connection = connections[number] else { return number }
        let network = ExactString(connection.network)
        if isOwn { return silent.oldest(of: network) ?? number }
        if let oldest = oldestSilent, oldest != number { return oldest }
        guard let largest = strangers.largest,
            strangers.count(of: largest) > strangers.count(of: network),
            !spared.contains(largest.text)
        else { return number }
        return strangers.oldest(of: largest) ?? number
    }

    /// Counts a connection no more, since the caller shuts it down.
    mutating func shut(_ number: Int) -> OpenConnection? {
        guard let connection = connections[number], !connection.isShut else { return nil }
        leave(number, connection)
        connection.markShut()
        return connection
    }

    private mutating func leave(_ number: Int, _ connection: OpenConnection) {
        let network = ExactString(connection.network)
        silent.set(number, of: network, false)
        strangers.set(number, of: network, false)
        open.set(number, of: network, false)
        count -= 1
    }

    /// Stops the process where an invariant does not hold; for tests.
    func checkInvariants() {
        open.checkInvariants()
        silent.checkInvariants()
        strangers.checkInvariants()
    }
}
