// SPDX-License-Identifier: Apache-2.0

/// Makes the JSON text of one person: about 427 bytes, the document of all the figures in
/// `docs/performance.md`.
///
/// ```
/// {"type":"person","name":…,"age":n,"email":…,"tags":[3],
///  "address":{"street":…,"city":…,"zip":…},"bio":200 characters}
/// ```
public struct PersonDocument {
    private var numbers: SeededNumbers

    /// Starts the series of documents of a seed.
    public init(seed: UInt64) {
        numbers = SeededNumbers(seed: seed)
    }

    /// Returns the next document's JSON text.
    public mutating func next() -> String {
        let first = pick(from: Self.firstNames)
        let initial = pick(from: Self.lastNames).prefix(1)
        let last = pick(from: Self.lastNames)
        let age = 18 + numbers.next(below: 72)
        let mailbox = "\(first.lowercased()).\(last.lowercased())\(numbers.next(below: 1000))"
        let tags = (0..<3).map { _ in "\"\(pick(from: Self.tags))\"" }.joined(separator: ",")
        let street = "\(100 + numbers.next(below: 9900)) \(pick(from: Self.lastNames)) Street"
        let city = pick(from: Self.cities)
        let zip = 10_000 + numbers.next(below: 90_000)
        return """
            {"type":"person","name":"\(first) \(initial). \(last)","age":\(age),"email":"\(mailbox)@post.example.com",\
            "tags":[\(tags)],\
            "address":{"street":"\(street)","city":"\(city)","zip":"\(zip)"},\
            "bio":"\(bio(ofLength: 200))"}
            """
    }

    private mutating func pick(from words: [String]) -> String {
        words[numbers.next(below: words.count)]
    }

    private mutating func bio(ofLength length: Int) -> String {
        var text = ""
        while text.utf8.count < length {
            text += pick(from: Self.words) + " "
        }
        return String(text.prefix(length))
    }

    private static let firstNames = [
        "Ada", "Anneliese", "Bengt", "Chidi", "Dmitri", "Eleonora", "Farid", "Gudrun", "Hikaru",
        "Ingrid", "Jamal", "Katarzyna", "Leila", "Mikkel", "Nasrin", "Oluwaseun", "Priya",
    ]
    private static let lastNames = [
        "Andersson", "Bianchi", "Castellanos", "Dubois", "Eriksen", "Fitzgerald", "Grigoryan",
        "Hosseini", "Ivanova", "Johansen", "Kowalczyk", "Lindqvist", "Montgomery", "Nakamura",
    ]
    private static let cities = [
        "Aarhus", "Bratislava", "Casablanca", "Dunedin", "Esfahan", "Fukuoka", "Gothenburg",
        "Hyderabad", "Izmir", "Johannesburg", "Kathmandu", "Ljubljana",
    ]
    private static let tags = [
        "archery", "ballet", "chess", "drums", "embroidery", "fencing", "gardening", "history",
        "juggling", "karate", "linguistics", "mountains",
    ]
    private static let words = [
        "about", "after", "bright", "carries", "document", "every", "follows", "garden", "harbour",
        "instead", "journey", "kitchen", "letters", "morning", "never", "ordinary", "people",
        "quiet", "reads", "shelves", "they", "usually", "village", "winter", "yesterday",
    ]
}
