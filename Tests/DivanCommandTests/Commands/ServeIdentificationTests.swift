// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import DivanListener
import Foundation
import Testing

@testable import DivanCommand

/// `divan serve` with users who show more than passwords. The suite's name counts among those over sockets.
extension ServeCommandTests {
    /// Signed with `key`, good until the year 2100, for `eve`; the second one names the key `two`.
    private static let token =
        "eyJhbGciOiJIUzI1NiJ9."
        + "eyJzdWIiOiJldmUiLCJleHAiOjQxMDI0NDQ4MDB9."
        + "EyeaIj8VU7YbUn9DbtZ3mTTWBuJWHeVXNtRreXXc_T4"
    private static let namedToken =
        "eyJhbGciOiJIUzI1NiIsImtpZCI6InR3byJ9."
        + "eyJzdWIiOiJldmUiLCJleHAiOjQxMDI0NDQ4MDB9."
        + "NwUWXVf1hsOBwL6dQF_dGI3-xMF_ZnyrGQ7_KWa5_pA"
    private static let key = "a key of thirty-two bytes or more"
    private static let secret = "sixteen bytes or more"

    /// The user whom a server sees in some header fields; nil if it sees none.
    private func name(
        _ url: String, _ headers: HTTPHeaders = [:], _ options: CurlTransport.Options? = nil
    ) async throws -> String? {
        var options = options ?? CurlTransport.Options()
        options.proxy = .none
        let transport = try CurlTransport(options)
        defer { transport.close() }
        var request = HTTPRequest(.get, try HTTPURL(url + "_session"))
        request.headers = headers
        let response = try await transport.send(request)
        let body = try await response.body.collect()
        return try JSONParser.parse(body)["userCtx"]?["name"]?.string
    }

    @Test func `bearer tokens count with a key from a file, a descriptor or the environment`()
        async throws
    {
        try tool.write(Self.key + "\n", to: "issuer.key")
        let ways: [([String], String, String)] = [
            (["--token-key", "file:issuer.key"], "", Self.token),
            (["--token-key", "fd:0"], Self.key, Self.token),
            (["--token-key", "env:KEY"], "", Self.token),
            (
                ["--token-key", "two=file:issuer.key", "--token-key", "three=env:KEY"], "",
                Self.namedToken
            ),
        ]
        for (options, input, token) in ways {
            let (server, address) = try serve(options, input: input, environment: ["KEY": Self.key])
            #expect(
                try await name(address.url, ["Authorization": "Bearer \(token)"]) == "eve",
                "\(options)")
            #expect(try await name(address.url, ["Authorization": "Bearer \(token)x"]) == nil)
            server.interrupt()
            #expect(try server.wait().status == 0)
        }
    }

    @Test func `a proxy is believed with the secret that both have`() async throws {
        let (server, address) = try serve(
            ["--proxy-secret", "env:SECRET"], environment: ["SECRET": Self.secret])
        var headers: HTTPHeaders = ["X-Auth-CouchDB-UserName": "eve"]
        #expect(try await name(address.url, headers) == nil)
        headers["X-Auth-CouchDB-Token"] =
            "ef80fa15f60cb3ff9b11ca2df90fb6e9d805965e686bbe4f2f940dbb79ad00ee"
        #expect(try await name(address.url, headers) == "eve")
        server.interrupt()
        #expect(try server.wait().status == 0)
    }

    @Test(arguments: [true, false])
    func `a client certificate is one way more, or the only way in`(isRequired: Bool) async throws {
        let client = tool.directory.appending(path: "client.pem")
        _ = try ListenerTLS.selfSigned(keptAt: client)
        let pem = try tool.read("client.pem")
        let when = isRequired ? [] : ["--client-certificates", "optional"]
        let (server, address) = try serve(
            ["--tls", "--user", "ann:secret", "--client-ca", "client.pem"] + when)
        var options = CurlTransport.Options()
        options.trust = .decision(ServerTrustDecision { _ in true })
        let ann: HTTPHeaders = [
            "Authorization": "Basic " + Base64.encode(Array("ann:secret".utf8))
        ]
        #expect(try await name(address.url, ann, options) == (isRequired ? nil : "ann"))
        options.clientCertificate = ClientCertificate(certificate: pem, key: pem)
        #expect(try await name(address.url, [:], options) == "Divan listener")
        #expect(try await name(address.url, ann, options) == "ann")
        server.interrupt()
        #expect(try server.wait().status == 0)
    }

    @Test func `what cannot be a key, a secret or a certificate is told in one sentence`() throws {
        try tool.write("\n", to: "empty")
        try tool.write("no certificate", to: "text")
        let cases: [([String], ExitCode, String)] = [
            (["--token-key", "file:nowhere"], .failure, "nowhere"),
            (["--token-key", "file:empty"], .badInput, "empty"),
            (["--token-key", "env:NOWHERE"], .badInput, "NOWHERE"),
            (["--token-key", "env:SHORT"], .badInput, "32 or more"),
            (["--token-key", Self.key], .usage, "where to get it from"),
            (["--token-key", "env:K", "--token-key", "_default=env:K"], .usage, "two keys"),
            (["--proxy-secret", "file:nowhere"], .failure, "nowhere"),
            (["--proxy-secret", "file:empty"], .badInput, "empty"),
            (["--proxy-secret", "env:SHORT"], .badInput, "16 or more"),
            (["--proxy-secret", Self.secret], .usage, "where to get it from"),
            (["--client-ca", "text"], .usage, "--tls"),
            (["--client-ca", "nowhere", "--tls"], .failure, "nowhere"),
            (["--client-ca", "text", "--tls"], .badInput, "PEM"),
            (["--client-certificates", "optional"], .usage, "--client-ca"),
            (["--client-certificates", "never", "--client-ca", "text"], .usage, "optional"),
            (["--everybody", "--token-key", "env:K"], .usage, "--token-key"),
            (["--everybody", "--proxy-secret", "env:K"], .usage, "--proxy-secret"),
            (["--everybody", "--tls", "--client-ca", "text"], .usage, "--client-ca"),
        ]
        for (words, status, part) in cases {
            let child = try tool.start(
                ["serve", "data", "--port", "0"] + words, environment: ["SHORT": "five5"])
            let result = try child.wait()
            #expect(result.status == status.rawValue, "\(words)")
            #expect(result.err.contains(part), "\(words): \(result.err)")
            #expect(!result.err.contains(Self.key) && !result.err.contains(Self.secret))
            #expect(!result.err.contains("five5"))
        }
    }
}
