// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// A process of the test child that announces and finds services on a host of a lab.
final class DivanParty: Sendable {
    /// A service as it is found.
    struct Service: Equatable {
        var name: String
        var host: String
        var port: Int
        var addresses: [String]
        var text: [String]

        fileprivate init?(_ word: Substring) {
            let parts = word.split(separator: "\u{1F}", omittingEmptySubsequences: false)
                .map(String.init)
            guard parts.count >= 4, let port = Int(parts[2]) else { return nil }
            (name, host, self.port) = (parts[0], parts[1], port)
            addresses = parts[3].split(separator: ",").map(String.init)
            text = Array(parts.dropFirst(4))
        }
    }

    private let lab: NetworkLab
    private let program: LabProgram

    init(
        _ lab: NetworkLab, on host: String, _ arguments: [String],
        environment: [String: String] = [:]
    ) async throws {
        let program = try lab.start(
            [TestProgram.path, "discover"] + arguments, on: host, isGuarded: false,
            environment: environment)
        (self.lab, self.program) = (lab, program)
        try #require(
            await eventually { program.hasSaid("ready") || !program.process.isRunning })
        try #require(program.hasSaid("ready"), "\(program.lines)")
    }

    /// The names that it was announced under, in their order.
    var names: [String] {
        program.lines.filter { $0.hasPrefix("announced\t") }.map { String($0.dropFirst(10)) }
    }

    /// The services that are there.
    var services: [Service] {
        let last = program.lines.last { $0.hasPrefix("services") } ?? ""
        return last.split(separator: "\t").dropFirst().compactMap(Service.init)
    }

    /// Announces a service, and waits until it has a name.
    func announce(
        _ name: String, type: String = "_divan._tcp", port: Int = 5_984, _ text: String...
    ) async throws {
        advertise(name, type: type, port: port, text)
        let before = names.count
        await eventually { names.count > before }
    }

    /// Begins to announce a service.
    func advertise(
        _ name: String, type: String = "_divan._tcp", port: Int = 5_984, _ text: [String] = []
    ) {
        program.say((["advertise", type, "\(port)", name] + text).joined(separator: "\t"))
    }

    /// Looks for services.
    func browse(_ type: String = "_divan._tcp") { program.say("browse", type) }

    /// Changes the text of the last service.
    func setText(_ text: String...) { program.say("text", text.joined(separator: "\t")) }

    /// Says goodbye for the last service.
    func withdraw() { program.say("withdraw") }

    /// Ends it, with a goodbye.
    func end() { program.end() }

    /// Keeps it from running, or lets it go on.
    func suspend(_ isSuspended: Bool) { program.process.signal(isSuspended ? SIGSTOP : SIGCONT) }
}
