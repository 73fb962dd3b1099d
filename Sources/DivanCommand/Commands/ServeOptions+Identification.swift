// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanListener
internal import FoundationEssentials

// Who users are besides their passwords: tokens, a proxy, certificates.
extension ServeOptions {
    static let identification: [OptionSchema] = [
        .value(
            "token-key", nil, "[KID=]\(KeySource.valueName)",
            "Take bearer tokens (JWT, HS256): get their key, or the one that tokens call KID, from"
                + " \(KeySource.forms).",
            repeats: true),
        .value(
            "proxy-secret", nil, KeySource.valueName,
            "Let a proxy in front say who its clients are: get the secret that it has, too, from"
                + " \(KeySource.forms)."),
        .value(
            "client-ca", nil, "FILE",
            "Ask clients for certificates that lead to one in this PEM file.", completion: .file),
        .value(
            "client-certificates", nil, "WHEN",
            "Whether every client must show one: required (the default) or optional.",
            completion: .choices(["required", "optional"])),
    ]

    /// Sets what the options above say.
    static func identify(_ invocation: Invocation, _ options: inout ListenerOptions) throws {
        let (arguments, environment) = (invocation.arguments, invocation.environment)
        options.tokens = try tokens(invocation)
        if let text = arguments.string("proxy-secret") {
            let source = try KeySource(text, option: "proxy-secret")
            options.proxy = try ListenerProxyAuthentication(
                secret: source.secret(
                    environment, invocation.interruption, "Secret of the proxy"))
        }
        options.clientCertificates = try clientCertificates(arguments)
    }

    /// The keys of tokens, by the names that tokens have for them.
    private static func tokens(_ invocation: Invocation) throws -> ListenerTokens? {
        var sources: NameMap<KeySource> = [:]
        for text in invocation.arguments.strings("token-key") {
            var (name, rest) = (ListenerTokens.unnamedKey, text)
            // A source has no equals sign before its colon.
            if let end = text.firstIndex(where: { $0 == "=" || $0 == ":" }), text[end] == "=",
                end != text.startIndex
            {
                name = String(text[..<end])
                rest = String(text[text.index(after: end)...])
            }
            guard sources[name] == nil else {
                throw UsageError("--token-key gives two keys to the same tokens; name one KID=...")
            }
            sources[name] = try KeySource(rest, option: "token-key")
        }
        guard !sources.isEmpty else { return nil }
        return try ListenerTokens(
            keys: sources.mapValues {
                try $0.secret(
                    invocation.environment, invocation.interruption, "Key of tokens")
            })
    }

    private static func clientCertificates(_ arguments: ParsedArguments) throws
        -> ListenerClientCertificates?
    {
        let when = arguments.string("client-certificates")
        guard let path = arguments.string("client-ca") else {
            guard when == nil else {
                throw UsageError("--client-certificates needs --client-ca FILE.")
            }
            return nil
        }
        guard arguments.flag("tls") || arguments.flag("certificate") else {
            throw UsageError(
                "--client-ca needs --tls or --certificate: clients show certificates over TLS only."
            )
        }
        let name = PrintableText.escaping(path)
        guard let pem = try? Data(contentsOf: URL(filePath: path)) else {
            throw CommandFailure(.failure, "\(name) cannot be read; check its path and rights.")
        }
        guard
            var certificates = try? ListenerClientCertificates(
                anchors: String(decoding: pem, as: UTF8.self))
        else {
            throw CommandFailure(.badInput, "\(name) has no certificates in PEM form.")
        }
        certificates.isRequired = when != "optional"
        return certificates
    }
}
