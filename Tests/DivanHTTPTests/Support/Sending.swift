// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Synchronization
import Testing

extension LoopbackServer {
    func url(_ target: String = "/") throws -> HTTPURL {
        try HTTPURL("http://127.0.0.1:\(port)\(target)")
    }
}

/// A body that is made as it is sent.
final class ClosureSource: HTTPBodySource {
    private let make: @Sendable (Int) async throws -> [UInt8]?
    private let count = Mutex(0)

    init(_ make: @escaping @Sendable (_ index: Int) async throws -> [UInt8]?) { self.make = make }

    func next() async throws -> [UInt8]? {
        try await make(
            count.withLock { count in
                defer { count += 1 }
                return count
            })
    }
}

/// The error that sending gives; `nil` when it gives none.
func failure(of body: () async throws -> Void) async -> HTTPError? {
    do { try await body() } catch let error as HTTPError { return error } catch {
        Issue.record("not an HTTPError: \(error)")
    }
    return nil
}

extension CurlTransport {
    /// Makes a transport that goes straight to the server, whatever the environment says.
    static func direct(_ change: (inout Options) -> Void = { _ in }) throws -> CurlTransport {
        var options = Options()
        options.proxy = .none
        // No test waits for the usual limits, and a busy machine may keep one waiting as long.
        options.timeouts.connect = .seconds(600)
        options.timeouts.head = .seconds(600)
        options.timeouts.silence = .seconds(600)
        change(&options)
        return try CurlTransport(options)
    }

    /// Sends and reads everything.
    func text(_ request: HTTPRequest) async throws -> (status: Int, text: String) {
        let response = try await send(request)
        return (response.status, String(decoding: try await response.body.collect(), as: UTF8.self))
    }
}
