// SPDX-License-Identifier: Apache-2.0

/// The reason why a text is not a document ID, a revision ID or a revision history.
public enum IDFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The document ID is the empty string.
    case emptyDocumentID
    /// The document ID is longer than ``DocumentID/maximumLength`` bytes of UTF-8.
    case documentIDTooLong
    /// The document ID contains the character NUL.
    case documentIDContainsNUL
    /// The document ID begins with an underscore and is not `_design/…` or `_local/…`.
    case reservedDocumentID
    /// In a partitioned database, the document ID has no colon that ends the name of its partition.
    case noPartition
    /// The name of the partition is the empty string.
    case emptyPartition
    /// The name of the partition begins with an underscore.
    case reservedPartition
    /// The name of the partition contains a colon, which would end it.
    case partitionContainsColon
    /// The revision ID is not a generation, a hyphen and a digest.
    case malformedRevisionID
    /// The generation is not between 1 and ``RevisionID/maximumGeneration``.
    case generationOutOfRange
    /// The digest is not between 1 and ``RevisionID/maximumDigestLength`` bytes of UTF-8.
    case digestLengthOutOfRange
    /// The history has no revision, or a generation is not one less than the one before it.
    case brokenHistory

    /// One sentence that says what is wrong and how to put it right.
    public var description: String {
        switch self {
        case .emptyDocumentID:
            "A document ID must have at least one character."
        case .documentIDTooLong:
            "A document ID must not be longer than \(DocumentID.maximumLength) bytes of UTF-8."
        case .documentIDContainsNUL:
            "A document ID must not contain the character NUL."
        case .reservedDocumentID:
            "A document ID must not begin with an underscore, except \"_design/\" and \"_local/\" "
                + "followed by a name."
        case .noPartition:
            "A document ID in a partitioned database must be a partition, a colon and a name, like "
                + "\"sensor-1:42\"."
        case .emptyPartition:
            "The name of a partition must have at least one character."
        case .reservedPartition:
            "The name of a partition must not begin with an underscore."
        case .partitionContainsColon:
            "The name of a partition must not contain a colon."
        case .malformedRevisionID:
            "A revision ID must be a decimal generation, a hyphen and a digest, like \"1-abc\"."
        case .generationOutOfRange:
            "A revision's generation must be between 1 and \(RevisionID.maximumGeneration)."
        case .digestLengthOutOfRange:
            "A revision's digest must be 1 to \(RevisionID.maximumDigestLength) bytes of UTF-8."
        case .brokenHistory:
            "A revision history must have revisions whose generations descend one by one."
        }
    }
}
