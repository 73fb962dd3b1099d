// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// A rectangle of coordinates: what the parameter `bbox` of a view asks for, and what a geometry takes up.
///
///     ?bbox=16.2,48.1,16.6,48.3       from the west and south to the east and north
///
/// The bounds belong to it. Coordinates are numbers of a plane: a rectangle does not go on beyond 180 degrees.
struct BoundingBox: Equatable, Sendable {
    var west, south, east, north: Double

    /// Reads the parameter.
    ///
    /// - Throws: `HTTPFailure` 400 for anything but four numbers of which each bound is no less than the one before it.
    init(_ text: String) throws {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Double($0) }.filter(\.isFinite)
        guard parts.count == 4, numbers.count == 4, numbers[0] <= numbers[2],
            numbers[1] <= numbers[3]
        else {
            throw HTTPFailure.queryParse(
                "Invalid value for `bbox`; give west, south, east and north as `16.2,48.1,16.6,48.3`."
            )
        }
        (west, south, east, north) = (numbers[0], numbers[1], numbers[2], numbers[3])
    }

    private init(_ x: Double, _ y: Double) { (west, south, east, north) = (x, y, x, y) }

    /// Whether the rectangles have a point in common.
    func meets(_ other: BoundingBox) -> Bool {
        west <= other.east && other.west <= east && south <= other.north && other.south <= north
    }

    private func union(_ other: BoundingBox) -> BoundingBox {
        var box = self
        (box.west, box.south) = (min(west, other.west), min(south, other.south))
        (box.east, box.north) = (max(east, other.east), max(north, other.north))
        return box
    }

    /// A key of a view that is a geometry: one of GeoJSON, or a position, as `[16.4, 48.2]`.
    struct Geometry {
        private let json: JSONValue
        /// What it takes up.
        let box: BoundingBox

        /// Reads a key; nil for one that is no geometry.
        init?(_ key: JSONValue) {
            guard let box = Self.box(of: key) else { return nil }
            self.box = box
            json = key.array == nil ? key : ["type": "Point", "coordinates": key]
        }

        /// Appends the members of a row.
        func append(to text: inout JSONText) {
            text.raw("\"geometry\":")
            text.value(json)
            text.raw(",\"bbox\":")
            text.value(.array([box.west, box.south, box.east, box.north].map(Self.number)))
        }

        /// A whole number is written as one.
        private static func number(_ value: Double) -> JSONValue {
            Int64(exactly: value).map { .integer($0) } ?? .double(value)
        }

        private static func box(of value: JSONValue) -> BoundingBox? {
            guard let object = value.object else { return position(value) }
            switch object["type"]?.string {
            case "Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon":
                return object["coordinates"].flatMap(coordinates)
            case "GeometryCollection": return union(object["geometries"], box)
            case "Feature": return object["geometry"].flatMap(box)
            case "FeatureCollection": return union(object["features"], box)
            default: return nil
            }
        }

        private static func position(_ value: JSONValue) -> BoundingBox? {
            guard let items = value.array, items.count >= 2, let x = items[0].double,
                let y = items[1].double
            else { return nil }
            return BoundingBox(x, y)
        }

        /// What positions take up, however deep they lie in arrays; nil where anything else lies there.
        private static func coordinates(_ value: JSONValue) -> BoundingBox? {
            position(value) ?? union(value, coordinates)
        }

        private static func union(
            _ items: JSONValue?, _ box: (JSONValue) -> BoundingBox?
        ) -> BoundingBox? {
            guard let items = items?.array, !items.isEmpty else { return nil }
            var all: BoundingBox?
            for item in items {
                guard let one = box(item) else { return nil }
                all = all?.union(one) ?? one
            }
            return all
        }
    }
}
