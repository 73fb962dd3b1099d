// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// The parameter `bbox` of views.
@Suite struct BoundingBoxTests {
    private let site: TestSite
    private let database: Database

    init() throws { (site, database) = try Self.newSite() }

    private static func newSite() throws -> (TestSite, Database) {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        let view = database.view(named: "map/places")
        view.setMap(version: "1", reduce: .count) { document, emit in
            emit(document["place"].value ?? .null, document["n"])
        }
        return (site, database)
    }

    private func ask(_ box: String, _ more: String = "", of other: TestSite? = nil) -> TestAnswer {
        (other ?? site).send("GET", "/db/_design/map/_view/places?bbox=\(box)\(more)")
    }

    private static let places: [(json: JSONValue, box: [JSONValue]?)] = [
        (["type": "Point", "coordinates": [1, 2]], [1, 2, 1, 2]),
        (["type": "Point", "coordinates": [1, 2, 300]], [1, 2, 1, 2]),
        (["type": "MultiPoint", "coordinates": [[1, 2], [-1, 5]]], [-1, 2, 1, 5]),
        (["type": "LineString", "coordinates": [[0, 0], [3, 1]]], [0, 0, 3, 1]),
        (
            [
                "type": "Polygon",
                "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 0]], [[1, 1]]],
            ],
            [0, 0, 4, 4]
        ),
        (["type": "MultiPolygon", "coordinates": [[[[7, 7]]], [[[8, 9]]]]], [7, 7, 8, 9]),
        (
            [
                "type": "GeometryCollection",
                "geometries": [
                    ["type": "Point", "coordinates": [0, 9]],
                    ["type": "Point", "coordinates": [2, 3]],
                ],
            ], [0, 3, 2, 9]
        ),
        (
            ["type": "Feature", "geometry": ["type": "Point", "coordinates": [5, 5]]],
            [5, 5, 5, 5]
        ),
        ([6, 7], [6, 7, 6, 7]),
        (["type": "Point"], nil), (["type": "Point", "coordinates": []], nil),
        (["type": "Point", "coordinates": ["1", "2"]], nil), (["type": "Circle"], nil),
        (["type": "MultiPoint", "coordinates": [[1, 2], "x"]], nil),
        (["type": "GeometryCollection", "geometries": []], nil), ("1,2", nil), ([1], nil), (5, nil),
        (nil, nil),
    ]

    @Test func `every geometry of GeoJSON has the box of its positions, and other keys have none`()
    {
        for (json, box) in Self.places {
            let geometry = BoundingBox.Geometry(json)
            #expect((geometry == nil) == (box == nil), "\(json)")
            var text = JSONText()
            geometry?.append(to: &text)
            guard let box else { continue }
            let row = String(decoding: text.bytes, as: UTF8.self)
            #expect(row.hasSuffix(#""bbox":\#(JSONValue.array(box))"#), "\(row)")
        }
    }

    @Test func `a row shows the geometry and its box in place of the key`() throws {
        try database.save(MutableDocument(["n": 7, "place": [6, 7]], id: "a"))
        try database.save(MutableDocument(["n": 8, "place": "none"], id: "b"))
        let answer = ask("6,6,7,7", "&include_docs=true").json
        #expect(answer["total_rows"] == nil)
        let row = answer["rows"]?[0]
        #expect(answer["rows"]?.array?.count == 1)
        #expect(row?["id"] == "a" && row?["value"] == 7 && row?["key"] == nil)
        #expect(row?["geometry"] == ["type": "Point", "coordinates": [6, 7]])
        #expect(row?["bbox"] == [6, 7, 6, 7] && row?["doc"]?["n"] == 7)
    }

    @Test func `a box finds the rows that looking at each finds, in pages, too`() throws {
        for round in Soak.rounds(test: 6, soak: 200) {
            let (site, database) = try Self.newSite()
            var random = Soak.random(round: round, salt: 0xB0C5)
            var points: [(Int, Int)] = []
            try database.inBatch {
                for n in 0..<300 {
                    points.append((random.below(20) - 10, random.below(20) - 10))
                    let (x, y) = points[n]
                    try database.save(
                        MutableDocument(
                            ["place": [.integer(Int64(x)), .integer(Int64(y))]],
                            id: DocumentID("\(1_000 + n)")))
                }
            }
            for _ in 0..<10 {
                let (west, south) = (random.below(20) - 10, random.below(20) - 10)
                let (east, north) = (west + random.below(9), south + random.below(9))
                let wanted = points.indices.filter { n in
                    (west...east).contains(points[n].0) && (south...north).contains(points[n].1)
                }.map { "\(1_000 + $0)" }.sorted()
                let box = "\(west),\(south),\(east),\(north)"
                func ids(_ more: String) -> [String] {
                    ask(box, more, of: site).json["rows"]?.array?.compactMap { $0["id"]?.string }
                        ?? ["none"]
                }
                #expect(ids("").sorted() == wanted)
                #expect(ids("&limit=3") + ids("&skip=3") == ids(""))
            }
        }
    }

    @Test(arguments: [
        "", "1", "1,2,3", "1,2,3,4,5", "3,2,1,4", "1,4,3,2", "a,b,c,d", "1,2,3,inf", "1,2,3,nan",
        "1,,3,4",
    ])
    func `a box that is none is refused, with one that is`(box: String) {
        let answer = ask(box)
        #expect(answer.status == 400 && answer.json["error"] == "query_parse_error")
        #expect(answer.json["reason"]?.string?.contains("16.2,48.1,16.6,48.3") == true)
    }
}
