// SPDX-License-Identifier: Apache-2.0

/// A secret that is fetched when it is first needed and again when it was refused, once for all who wait.
actor Renewable<Secret: Sendable & Equatable> {
    private let fetch: @Sendable (_ refused: Secret?) async throws -> Secret?
    private var secret: Secret?
    private var fetching: Task<Secret?, any Error>?

    init(_ fetch: @escaping @Sendable (_ refused: Secret?) async throws -> Secret?) {
        self.fetch = fetch
    }

    /// The secret; `nil` when there is none.
    func current() async throws -> Secret? {
        if let fetching { return try await fetching.value }
        if let secret { return secret }
        return try await refresh(nil)
    }

    /// A newer secret than one that was refused; `nil` when there is none.
    func renew(after refused: Secret) async throws -> Secret? {
        if let fetching { return try await fetching.value }
        // Another request has renewed it meanwhile.
        if let secret, secret != refused { return secret }
        return try await refresh(refused)
    }

    /// Takes a secret that came by itself.
    func set(_ secret: Secret) { self.secret = secret }

    private func refresh(_ refused: Secret?) async throws -> Secret? {
        let task = Task { [fetch] in try await fetch(refused) }
        fetching = task
        defer { fetching = nil }
        let new = try await task.value
        secret = new
        return new
    }
}
