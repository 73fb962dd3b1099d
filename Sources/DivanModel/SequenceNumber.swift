// SPDX-License-Identifier: Apache-2.0

/// A position in one database's order of changes: every stored revision takes the next number.
///
/// The first number is 1, so 0 stands for "before everything". Numbers are never reused and mean
/// nothing in another database.
public typealias SequenceNumber = UInt64
