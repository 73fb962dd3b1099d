// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// The attachments of a document whose content has not come yet, to be found by what a part says of itself.
///
///     part          file name that is open? ──► that one
///                   digest of one that is?  ──► the first of these
///                   neither                 ──► the first
///
/// A server says how many attachments and parts there are, so none is searched for among all others.
struct OpenAttachments {
    private let names: [String]
    /// The place of each name; those that have their content are gone.
    private var places: NameMap<Int> = [:]
    /// The places of the entries with a digest, the first one last, also of such as have their content.
    private var byDigest: NameMap<[Int]> = [:]
    /// Before this place all have their content.
    private var first = 0

    /// Takes the entries of a document that say that their content follows.
    init(of document: WireDocument) {
        names = document.followingNames
        let stubs = document.body["_attachments"]
        for place in names.indices.reversed() {
            places[names[place]] = place
            guard let digest = stubs?[names[place]]?["digest"]?.string else { continue }
            byDigest[digest, default: []].append(place)
        }
    }

    /// Finds the attachment that a part is the content of, which then has it.
    ///
    /// - Parameters:
    ///   - name: The file name of the part, if it has one.
    ///   - digests: The digests of its content.
    /// - Returns: The name of the attachment; nil where all have their content.
    mutating func take(_ name: String?, _ digests: [String]) -> String? {
        if let name, places.removeValue(forKey: name) != nil { return name }
        guard let place = digests.compactMap({ firstPlace($0) }).min() ?? firstPlace() else {
            return nil
        }
        places[names[place]] = nil
        return names[place]
    }

    private func isOpen(_ place: Int) -> Bool { places[names[place]] != nil }

    private mutating func firstPlace() -> Int? {
        while first < names.count, !isOpen(first) { first += 1 }
        return first < names.count ? first : nil
    }

    private mutating func firstPlace(_ digest: String) -> Int? {
        while let place = byDigest[digest]?.last {
            if isOpen(place) { return place }
            byDigest[digest]?.removeLast()
        }
        return nil
    }
}
