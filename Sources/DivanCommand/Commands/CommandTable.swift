// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Every subcommand, in the order in which the help lists them.
enum CommandTable {
    static let all: [Command] = [
        .create, .info, .ls, .query, .get, .put, .edit, .rm, .purge, .expire, .attach, .detach,
        .attachment, .cat, .importing, .export, .changes, .tree, .conflicts, .resolve, .view,
        .design, .search, .index, .compact, .verify, .salvage, .backup, .install, .convert, .rekey,
        .replicate, .sync, .serve, .open,
        .edge, .users, .pair, .peers, .nearby, .inspect, .completions, .manual,
    ]

    static func command(named name: String) -> Command? {
        all.first { $0.schema.name.hasSameBytes(as: name) }
    }
}
