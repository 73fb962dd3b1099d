// SPDX-License-Identifier: Apache-2.0

/// One packet of multicast DNS: a question or an answer (RFC 1035, 4; RFC 6762, 18).
///
///     0   2 bytes   identifier, 0 unless an old resolver asks
///     2   2 bytes   flags: 0x8000 an answer, 0x0400 with authority, 0x0200 more known answers follow
///     4   4 × 2     how many questions, answers, authorities, additional records
///     12            these, one after the other
///
/// In a question the answers are those that the asker knows already, and the authorities are the records that
/// it would like to own.
package struct DNSMessage: Sendable, Equatable {
    /// Bytes of a packet that is read at most (RFC 6762, 17).
    package static let longest = 9_000
    /// Bytes of a packet that is written, unless one record is longer: what an Ethernet carries in one piece.
    package static let usual = 1_400

    /// Repeated in the answer to an old resolver.
    package var identifier: UInt16 = 0
    /// Whether it answers; otherwise it asks.
    package var isResponse: Bool
    /// Whether known answers follow in another packet.
    package var isTruncated = false
    /// What is asked.
    package var questions: [DNSQuestion] = []
    /// What is said, or known already.
    package var answers: [DNSRecord] = []
    /// What the asker would like to own.
    package var authorities: [DNSRecord] = []
    /// What will be asked next.
    package var additional: [DNSRecord] = []

    /// Makes an empty message.
    package init(isResponse: Bool) { self.isResponse = isResponse }

    /// Makes an answer.
    package static func response(
        _ answers: [DNSRecord], additional: [DNSRecord] = []
    ) -> DNSMessage {
        var message = DNSMessage(isResponse: true)
        message.answers = answers
        message.additional = additional
        return message
    }

    /// Makes a question.
    package static func query(
        _ questions: [DNSQuestion], known: [DNSRecord] = [], proposed: [DNSRecord] = []
    ) -> DNSMessage {
        var message = DNSMessage(isResponse: false)
        message.questions = questions
        message.answers = known
        message.authorities = proposed
        return message
    }

    /// All records that are said to be true.
    package var records: [DNSRecord] { answers + additional }
}
