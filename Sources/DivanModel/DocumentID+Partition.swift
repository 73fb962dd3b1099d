// SPDX-License-Identifier: Apache-2.0

// In a partitioned database the ID of a document begins with the name of its partition:
//
//     sensor-1:2026-11-27     the document "2026-11-27" of the partition "sensor-1"
//     a:b:c                   "b:c" of "a": the first colon counts
//     _design/people          in no partition, as all design and local documents
extension DocumentID {
    /// Names a document of a partition.
    ///
    /// ```swift
    /// let id = DocumentID(partition: "sensor-1", "2026-11-27")      // "sensor-1:2026-11-27"
    /// ```
    ///
    /// A name that breaks the rules makes an ID that is refused: one with a colon, too, which would name another
    /// partition, gets an underscore in front.
    ///
    /// - Parameters:
    ///   - partition: The name of the partition.
    ///   - rest: What stands behind the colon.
    public init(partition: String, _ rest: String) {
        let mark = partition.utf8.contains(Self.colon) ? "_" : ""
        self.init("\(mark)\(partition):\(rest)")
    }

    /// The partition that the document belongs to in a partitioned database: what stands before the first colon.
    ///
    /// It is nil for an ID without a colon, and for a design or local document, which belong to no partition.
    public var partition: String? {
        guard !isDesign, !isLocal, let colon = text.utf8.firstIndex(of: Self.colon) else {
            return nil
        }
        return String(Substring(text.utf8[..<colon]))
    }

    /// Throws unless a document of a partitioned database may have the ID.
    ///
    /// - Throws: `IDFailure` that says which rule the text breaks.
    package func validateInPartition() throws(IDFailure) {
        try validate()
        guard !isDesign, !isLocal else { return }
        guard let colon = text.utf8.firstIndex(of: Self.colon) else { throw .noPartition }
        try Self.validate(partition: String(Substring(text.utf8[..<colon])))
        let rest = String(Substring(text.utf8[text.utf8.index(after: colon)...]))
        try DocumentID(rest).validate()
    }

    /// Throws unless a text is the name of a partition.
    ///
    /// - Parameter name: One or more characters without a colon or NUL. The first one is no underscore.
    /// - Throws: `IDFailure` that says which rule the text breaks.
    package static func validate(partition name: String) throws(IDFailure) {
        guard let first = name.utf8.first else { throw .emptyPartition }
        guard first != UInt8(ascii: "_") else { throw .reservedPartition }
        guard !name.utf8.contains(Self.colon) else { throw .partitionContainsColon }
        guard name.utf8.count < maximumLength else { throw .documentIDTooLong }
        guard !name.utf8.contains(0) else { throw .documentIDContainsNUL }
    }

    private static let colon = UInt8(ascii: ":")
}
