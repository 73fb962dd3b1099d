// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Some connections, by the network that they come from and by their age: which network has the most, and which of its
/// connections is the oldest. Among networks that have as many, the one that has had them longest comes first.
///
/// Each function takes the same time however many connections there are.
///
/// ## Invariants
///
/// 1. A network is in `byCount[n]` exactly while it has `n` connections, and `n` is not 0.
/// 2. `most` is the highest `n` of a network, or 0.
struct NetworkOrder: Sendable {
    private var networks: [ExactString: AgeOrder<Int>] = [:]
    private var byCount: [Int: AgeOrder<ExactString>] = [:]
    private var most = 0

    /// The network that has the most; nil when there are no connections.
    var largest: ExactString? { byCount[most]?.oldest }

    /// How many a network has.
    func count(of network: ExactString) -> Int { networks[network]?.count ?? 0 }

    /// The oldest of a network; nil when it has none.
    func oldest(of network: ExactString) -> Int? { networks[network]?.oldest }

    /// Adds a connection as the youngest, or removes it.
    mutating func set(_ number: Int, of network: ExactString, _ isIn: Bool) {
        let before = count(of: network)
        if isIn {
            networks[network, default: AgeOrder()].append(number)
        } else {
            networks[network]?.remove(number)
        }
        let after = count(of: network)
        if after == 0 { networks[network] = nil }
        guard after != before else { return }
        byCount[before]?.remove(network)
        if byCount[before]?.count == 0 { byCount[before] = nil }
        if after > 0 { byCount[after, default: AgeOrder()].append(network) }
        // By one at a time, so that the way down is one step, too.
        if after > most { most = after } else if before == most, byCount[most] == nil { most -= 1 }
    }

    /// Stops the process where an invariant does not hold; for tests.
    func checkInvariants() {
        for (name, connections) in networks {
            precondition(byCount[connections.count]?.contains(name) == true, "invariant 1")
        }
        precondition(byCount.values.reduce(0) { $0 + $1.count } == networks.count, "invariant 1")
        precondition(most == networks.values.map(\.count).max() ?? 0, "invariant 2")
    }
}
