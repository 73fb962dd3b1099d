// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanListener
internal import DivanPeers

/// Shows a peer link, as text and as a QR code, and tells what comes of it.
enum PeerLinkOutput {
    static let options: [OptionSchema] = [
        .value(
            "qr", nil, "DATABASE",
            "Show a link, also as a QR code, by which one other device is paired and shares a database."
        ),
        .value(
            "qr-file", nil, "FILE", "Write the QR code to a file: .svg or .png.", completion: .file),
        .value(
            "qr-background", nil, "COLOR",
            "Draw the QR code without colours of its own, for a terminal that is dark or light.",
            completion: .choices(["dark", "light"])),
        .value("qr-seconds", nil, "N", "The link counts for so long: 300 seconds."),
    ]

    /// Whether devices are served that are paired with this one.
    static func servesPeers(_ arguments: ParsedArguments) -> Bool {
        arguments.flag("peers") || arguments.flag("nearby") || arguments.string("qr") != nil
    }

    /// Checks the options before anything is begun.
    ///
    /// - Returns: Whether a link is asked for.
    /// - Throws: `UsageError`.
    static func isAskedFor(_ arguments: ParsedArguments) throws -> Bool {
        guard arguments.string("qr") != nil else {
            for option in ["qr-file", "qr-background", "qr-seconds"]
            where arguments.string(option) != nil {
                throw UsageError("--\(option) goes with --qr DATABASE.")
            }
            return false
        }
        if let background = arguments.string("qr-background"),
            !["dark", "light"].contains(background)
        {
            throw UsageError("--qr-background is dark or light.")
        }
        if let file = arguments.string("qr-file"),
            !file.hasByteSuffix(".svg"), !file.hasByteSuffix(".png")
        {
            throw UsageError("--qr-file takes a name that ends in .svg or .png.")
        }
        if let seconds = try arguments.count("qr-seconds"), !(1...86_400).contains(seconds) {
            throw UsageError("--qr-seconds takes a number from 1 to 86400.")
        }
        return true
    }

    /// Shows a link of a listener that listens.
    static func show(_ invocation: Invocation, _ listener: Listener) throws {
        let (arguments, output) = (invocation.arguments, invocation.output)
        guard let name = arguments.string("qr") else { return }
        let database = try listener.manager.database(named: name)
        let seconds = try arguments.count("qr-seconds") ?? 300
        let link = try listener.link(for: database, lifetime: .seconds(seconds)) { candidate in
            // A screen that is gone does not keep devices from being paired.
            try? output.line(
                "Pairing with \(candidate.name) (\(candidate.id)). Both show \(candidate.code).")
            try? output.out.flush()
            return true
        }
        let code = try link.qrCode()
        if let path = arguments.string("qr-file") {
            try OutputFile.write(
                path.hasByteSuffix(".svg") ? Array(code.svg().utf8) : code.png(), to: path)
        } else {
            try output.out.write(drawing(of: code, arguments, output))
        }
        try output.line(link.text)
        let remark =
            "One device is paired that scans it, or runs \"divan pair\" with the text, within \(seconds) s."
        output.remark(remark)
    }

    private static func drawing(
        of code: QRCode, _ arguments: ParsedArguments, _ output: Output
    ) -> String {
        switch arguments.string("qr-background") {
        case "dark": code.terminal(on: .dark)
        case "light": code.terminal(on: .light)
        default: output.outTerminal.isInteractive ? code.terminal() : code.terminal(on: .light)
        }
    }
}

extension ExitCode {
    /// What the process returns for what went wrong between devices.
    init(_ code: PeerError.Code) {
        switch code {
        case .invalidValue, .invalidLink: self = .badInput
        case .unknownPeer: self = .notFound
        case .refused, .untrusted: self = .unauthorized
        case .cancelled: self = .interrupted
        default: self = .failure
        }
    }
}
