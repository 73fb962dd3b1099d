// SPDX-License-Identifier: Apache-2.0

/// What one packet says of the addresses of one host.
///
/// It is put together once and then told to each instance on the host, at the cost of the few addresses that the instance has or
/// takes: a packet can say hundreds of addresses, and be sent to a browser that knows hundreds of instances of its host.
struct HeardAddresses {
    private struct Word {
        /// The last record that says the address; nil when it is only said to be gone.
        var record: DNSRecord?
        /// Whether it was said to be gone since.
        var isWithdrawn = false
    }

    private var words: [DNSRecord.Content: Word] = [:]
    /// The addresses that are said to be there, each once, in their order.
    private var present: [DNSRecord.Content] = []
    /// The kinds of which the packet says all that there are.
    private var complete: Set<DNSType> = []

    /// Sorts the addresses of a packet by their hosts.
    ///
    /// - Parameter records: The records of the packet, of any kind.
    /// - Returns: What it says of each host.
    static func byHost(_ records: [DNSRecord]) -> [DNSName: HeardAddresses] {
        var hosts: [DNSName: HeardAddresses] = [:]
        for record in records where record.type == .a || record.type == .aaaa {
            hosts[record.name, default: HeardAddresses()].add(record)
        }
        return hosts
    }

    private mutating func add(_ record: DNSRecord) {
        guard record.lifetime > 0 else {
            words[record.content, default: Word()].isWithdrawn = true
            return
        }
        if words[record.content]?.record == nil { present.append(record.content) }
        words[record.content] = Word(record: record)
        if record.isUnique { complete.insert(record.type) }
    }

    /// Brings kept addresses of the host up to date.
    ///
    /// - Parameters:
    ///   - kept: The addresses, which stay in their order.
    ///   - limit: How many are kept at most.
    ///   - now: The time.
    /// - Returns: Whether others were added.
    func update(_ kept: inout [TimedRecord], limit: Int, at now: Duration) -> Bool {
        for index in kept.indices {
            if let word = words[kept[index].record.content] {
                if let record = word.record { kept[index] = TimedRecord(record, at: now) }
                if word.isWithdrawn { kept[index].expire(soonAfter: now) }
            } else if complete.contains(kept[index].record.type),
                now - kept[index].heard > .seconds(1)
            {
                // The packet stands for all of this kind, those of the last second apart.
                kept[index].expire(soonAfter: now)
            }
        }
        let count = kept.count
        let known = Set(kept.map(\.record.content))
        for content in present where !known.contains(content) {
            // The end is near: what is passed over until here is known, and few are.
            guard kept.count < limit else { break }
            guard let word = words[content], let record = word.record else { continue }
            kept.append(TimedRecord(record, at: now))
            if word.isWithdrawn { kept[kept.count - 1].expire(soonAfter: now) }
        }
        return kept.count > count
    }
}
