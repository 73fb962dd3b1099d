// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// What a body of JSON would take, found before anything of it is kept.
struct BodyMeasure: Sendable {
    /// The most that a body may be.
    struct Limits: Sendable, Equatable {
        /// Its bytes, without coding.
        var bytes: Int
        /// Its values: arrays, objects, their elements and members.
        var values = Int.max
    }

    private var measure = JSONMeasure()

    /// The bytes of the text.
    var bytes: Int { measure.bytes }
    /// At least the number of values in it.
    var values: Int { measure.values }
    /// How many elements the longest list in it may have that stands in an object at the top.
    var elements: Int { measure.elements }
    /// The bytes of the longest such element, or of another member.
    var longest: Int { measure.longest }
    /// The values in the element that has the most.
    var mostValues: Int { measure.mostValues }

    /// Goes through a whole body.
    ///
    /// - Throws: `HTTPFailure` 413 as soon as it is more than the limits.
    init(_ pieces: BodyPieces, within limits: Limits) throws {
        while let piece = try pieces.next() {
            measure.add(piece.span)
            guard bytes <= limits.bytes, values <= limits.values else {
                throw HTTPFailure.bodyTooLarge
            }
        }
        measure.end()
    }

    // MARK: - Costs

    /// What an element of a list takes at most beside its text, taken apart and not yet dealt with.
    private static let elementCost = 512

    /// What the body takes at most when it is parsed as a whole.
    func cost(of kind: BodyKind) -> Int { Self.cost(bytes, values, kind) }

    /// What a list takes of which so many bytes and elements are held at once, the elements parsed.
    func cost(of kind: BodyKind, holding held: Int, elements count: Int) -> Int {
        Self.cost(longest, mostValues, kind)
            .addingSaturated(min(bytes, held).multipliedSaturated(by: 3))
            .addingSaturated(min(elements, count).multipliedSaturated(by: Self.elementCost))
    }

    private static func cost(_ bytes: Int, _ values: Int, _ kind: BodyKind) -> Int {
        JSONWeight.cost(bytes: bytes, values: values, as: kind.form)
    }
}
