// SPDX-License-Identifier: Apache-2.0

/// By what a user with an account was recognised, as it was then: empty for a user who was recognised by something else.
///
/// Between the moment when the head of a request shows who makes it and the moment when its body has come, hours may pass. What the
/// account has become meanwhile shows beside this.
///
/// It does not count where users are compared, and shows nothing of what it holds where one is printed.
struct AccountProof: Sendable, Hashable {
    /// What the password was hashed to.
    var passwordHash: [UInt8]?
    /// What the cookies of the account were signed with.
    var signingKey: [UInt8]?

    static func == (_: AccountProof, _: AccountProof) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

extension AccountProof: CustomStringConvertible, CustomReflectable {
    var description: String { "AccountProof" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
