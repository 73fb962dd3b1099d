// SPDX-License-Identifier: Apache-2.0

import DivanDiscovery

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Announces and finds services as the lines on its input say, and says what happens. Words are parted by tabs.
///
///     advertise TYPE PORT NAME TEXT …    announced NAME, each time that it is announced under a name
///     text KEY=VALUE …                   changes the text of the last service
///     withdraw                           says goodbye for the last service: withdrawn
///     browse TYPE                        services, and a word for each, at once and each time that they change
///
/// Its arguments are a user to become, or `system` to use the system's service; without it, Divan's own is used.
///
/// The word of a service has its name, host, port, addresses and text, parted by U+001F. The end of the input ends it, with a goodbye.
struct NetworkParty {
    private static let separator = "\u{1F}"

    private let discovery: Discovery

    init(_ arguments: [String]) throws {
        if let user = arguments.first.flatMap(uid_t.init) {
            guard setgroups(0, nil) == 0, setgid(user) == 0, setuid(user) == 0 else {
                throw WrongArguments()
            }
        }
        discovery = try Discovery(arguments.contains("system") ? .system : .own)
    }

    func run() throws {
        Report.say("ready")
        var mine: [ServiceAdvertisement] = []
        while let line = readLine() {
            let words = line.split(separator: "\t").map(String.init)
            switch words.first {
            case "advertise": mine.append(try advertise(words))
            case "text": try mine.last?.setText(Self.text(words.dropFirst()))
            case "withdraw":
                mine.popLast()?.stop()
                Report.say("withdrawn")
            case "browse": browse(try ServiceType(words.argument(1)))
            default: throw WrongArguments()
            }
        }
        discovery.stop()
    }

    private func advertise(_ words: [String]) throws -> ServiceAdvertisement {
        let service = try discovery.advertise(
            words.argument(3), type: ServiceType(words.argument(1)), port: words.number(2),
            text: Self.text(words.dropFirst(4)))
        let names = service.names
        Task { for await name in names { Report.say("announced\t\(name)") } }
        return service
    }

    private func browse(_ type: ServiceType) {
        let changes = discovery.services(of: type)
        Task {
            for await services in changes {
                Report.say((["services"] + services.map(Self.word)).joined(separator: "\t"))
            }
        }
    }

    private static func text(_ words: some Sequence<String>) -> ServiceText {
        var text = ServiceText()
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            text[parts[0]] = parts.count > 1 ? parts[1] : ""
        }
        return text
    }

    private static func word(_ service: DiscoveredService) -> String {
        let text = service.text.keys.map { "\($0)=\(service.text[$0] ?? "")" }
        let addresses = service.addresses.map(\.description).joined(separator: ",")
        return ([service.name, service.host, String(service.port), addresses] + text)
            .joined(separator: separator)
    }
}
