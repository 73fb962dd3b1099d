// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Foundation

/// Runs the workloads, interleaved: one run of every engine, then the next run of every engine, so
/// that a slow minute of the machine falls on all of them.
struct Bench {
    let options: Options
    private let count: Int
    private let engines: [Engine]
    private let jsonEngines: [Engine]
    private let copyEngines: [Engine]
    private let textEngines: [Engine]
    private let recordEngines: [Engine]
    let folder: String

    init(options: Options, count: Int, programs: String) throws {
        self.options = options
        self.count = count
        folder = FileManager.default.currentDirectoryPath + "/.work"
        var engines = [
            Engine(
                name: Engine.plainFloor, program: programs + "/Floor", firstArguments: ["plain"]),
            Engine(
                name: Engine.layoutFloor, program: programs + "/Floor", firstArguments: ["layout"]),
        ]
        if !options.floorsOnly {
            engines.insert(
                Engine(
                    name: Engine.divan, program: programs + "/DivanRunner", firstArguments: []),
                at: 0)
            engines.insert(
                Engine(
                    name: Engine.divanOnLMDB, program: programs + "/DivanRunner",
                    firstArguments: ["lmdb"]),
                at: 1)
            engines.insert(
                Engine(
                    name: Engine.divanEncrypted, program: programs + "/DivanRunner",
                    firstArguments: ["encrypted"]),
                at: 1)
        }
        engines.append(
            Engine(
                name: Engine.plainLMDBFloor, program: programs + "/Floor",
                firstArguments: ["plain-lmdb"]))
        self.engines = engines
        let foundation = Engine(
            name: Engine.foundation, program: programs + "/DivanRunner",
            firstArguments: [Engine.foundation])
        let copy = Engine(
            name: Engine.copy, program: programs + "/DivanRunner", firstArguments: [Engine.copy])
        jsonEngines = engines.filter { $0.name == Engine.divan } + [foundation]
        copyEngines = engines.filter { $0.name == Engine.divan } + [copy]
        let fullText = Engine(
            name: Engine.fullTextFloor, program: programs + "/Floor", firstArguments: ["plain"])
        textEngines = engines.filter(\.isDivan) + [fullText]
        recordEngines =
            engines.filter { ![Engine.layoutFloor, Engine.divanEncrypted].contains($0.name) }
            + Engine.peers
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
    }

    /// Measures all that was asked for and returns the rows of the table.
    func run() throws -> [Row] {
        var rows: [Row] = []
        let asked = installed(
            Workload.all(count: count).filter { workload in
                options.includes(workload.name) || wantsFileFigures(workload)
            })
        try writeInputs(of: asked)
        for workload in asked {
            if workload.start != .nothing {
                try fill(for: workload)
            }
            var medians: [String: Measurement] = [:]
            for (name, measurements) in try runs(of: workload) {
                medians[name] = median(of: measurements)
            }
            let earlier = rows.count
            if options.includes(workload.name) {
                rows += Row.rows(
                    workload: workload.name, medians, engines(for: workload).map(\.name))
            }
            if workload.work == "insert_batch" {
                rows += fileRows(workload, medians)
            }
            if let name = workload.sizeName, options.includes(name) {
                rows += Row.sizes(
                    name, medians, engines(for: workload).map(\.name), \.grownMegabytes)
            }
            for index in rows.indices.dropFirst(earlier) {
                rows[index].documents = workload.documents
            }
            Row.printNew(rows[earlier...])
        }
        return rows
    }

    private func engines(for workload: Workload) -> [Engine] {
        let engines = allEngines(for: workload)
        return options.engines.isEmpty
            ? engines : engines.filter { options.engines.contains($0.name) }
    }

    private func allEngines(for workload: Workload) -> [Engine] {
        if workload.isJSON { return jsonEngines }
        return switch workload.floors {
        case .both: engines
        // Only SQL's own indexes are a floor of views.
        case .plain: engines.filter { $0.isDivan || $0.name == Engine.plainFloor }
        case .sql:
            engines.filter {
                [Engine.plainFloor, Engine.layoutFloor].contains($0.name) || $0.isDivan
            }
        case .copy: copyEngines
        case .fullText: textEngines
        case .peers: recordEngines
        case .none: engines.filter(\.isDivan)
        case .encrypted: engines.filter { $0.isDivan || $0.name == Engine.divanEncrypted }
        }
    }

    /// The size on disk and the peak of memory are seen beside `insert_batch`, that of an index on full text
    /// beside its build.
    private func wantsFileFigures(_ workload: Workload) -> Bool {
        workload.sizeName.map(options.includes) ?? false
            || workload.name == "insert_batch"
                && (options.includes("disk") || options.includes("memory"))
    }

    private func fileRows(_ workload: Workload, _ medians: [String: Measurement]) -> [Row] {
        let suffix = workload.ids == .random ? "_random_ids" : ""
        var rows: [Row] = []
        if options.includes("disk") {
            rows += Row.sizes("disk" + suffix, medians, engines.map(\.name), \.diskMegabytes)
        }
        if options.includes("memory") {
            rows += Row.sizes(
                "memory" + suffix, medians, engines.map(\.name), \.peakAnonymousMegabytes)
        }
        return rows
    }

    private func runs(of workload: Workload) throws -> [String: [Measurement]] {
        var found: [String: [Measurement]] = [:]
        for run in 0..<options.runs {
            // Every second run goes round the engines the other way.
            let engines = engines(for: workload)
            for engine in run % 2 == 0 ? engines : engines.reversed() {
                let directory = try place(for: workload, engine)
                let measurement = try measure(
                    workload, on: engine, input: input(workload), directory: directory)
                found[engine.name, default: []].append(measurement)
            }
        }
        return found
    }

    // MARK: - Files

    /// Leaves out what needs texts that are not installed, and says so.
    private func installed(_ workloads: [Workload]) -> [Workload] {
        let missing = workloads.filter { $0.documents == 0 }
        if !missing.isEmpty {
            let names = missing.map(\.name).joined(separator: ", ")
            print("skipped: \(names): \(DictionaryEntries.advice)")
        }
        return workloads.filter { $0.documents > 0 }
    }

    private func writeInputs(of workloads: [Workload]) throws {
        let files = FileManager.default
        for workload in workloads {
            let path = input(workload)
            if !files.fileExists(atPath: path) {
                try workload.texts.write(to: path, of: count, ids: workload.ids)
            }
            if workload.isFullText, !files.fileExists(atPath: TextQueries.path(beside: path)) {
                try TextQueries(of: InputFile(path: path)).write(beside: path)
            }
            if let mix = workload.mix {
                try RecordRequests(
                    mix, count: workload.operations, records: workload.documents
                ).write(mix.name, beside: path)
            }
        }
    }

    private func input(_ workload: Workload) -> String {
        "\(folder)/input-\(workload.inputName)"
    }

    private func filled(_ workload: Workload, _ engine: Engine) -> String {
        "\(folder)/filled-\(workload.inputName)-\(engine.name)"
    }

    /// Makes the filled databases of a workload's kind of documents, unless they are there already.
    private func fill(for workload: Workload) throws {
        var filling = workload
        filling.work = "insert_batch"
        filling.operations = workload.documents
        for engine in engines(for: workload) {
            let directory = filled(workload, engine)
            guard !FileManager.default.fileExists(atPath: directory) else { continue }
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true)
            _ = try measure(filling, on: engine, input: input(workload), directory: directory)
        }
    }

    /// The folder that a run works in, fresh unless the run only reads.
    private func place(for workload: Workload, _ engine: Engine) throws -> String {
        let files = FileManager.default
        let directory = "\(folder)/run-\(engine.name)"
        switch workload.start {
        case .filled:
            return filled(workload, engine)
        case .indexed:
            return try indexed(workload, engine)
        case .nothing:
            try? files.removeItem(atPath: directory)
            try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
        case .copy:
            try? files.removeItem(atPath: directory)
            try files.copyItem(atPath: filled(workload, engine), toPath: directory)
        }
        return directory
    }

    /// The database of all documents with an index on their full text, which is made by a run of its own.
    private func indexed(_ workload: Workload, _ engine: Engine) throws -> String {
        let directory = "\(folder)/indexed-\(workload.inputName)-\(engine.name)"
        guard !FileManager.default.fileExists(atPath: directory) else { return directory }
        try FileManager.default.copyItem(atPath: filled(workload, engine), toPath: directory)
        var build = workload
        build.work = "text_build"
        _ = try measure(build, on: engine, input: input(workload), directory: directory)
        return directory
    }
}

/// The run in the middle by CPU time; memory and size are those of the same run.
private func median(of measurements: [Measurement]) -> Measurement {
    measurements.sorted { $0.cpuSeconds < $1.cpuSeconds }[measurements.count / 2]
}
