// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

@Suite struct ISO8601Tests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_795_223_045_006, "2026-11-21T01:04:05.006Z"),
        (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        (-2_203_891_200_001, "1900-02-28T23:59:59.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ])
    func `dates are written and read`(milliseconds: Int64, text: String) {
        #expect(ISO8601.format(millisecondsSince1970: milliseconds) == text)
        #expect(ISO8601.parse(text) == milliseconds)
    }

    @Test(arguments: [
        "1970-01-01", "1970-01-01T00:00", "1970-01-01T00:00:00", "1970-01-01t00:00:00z",
        "1970-01-01 00:00:00.0Z", "1970-01-01T02:00:00+02:00", "1969-12-31T22:30-0130",
        "1970-01-01T01:00:00.000999+01", "1970-01-01T00:00:00,000000Z",
    ])
    func `other spellings mean the same`(text: String) {
        #expect(ISO8601.parse(text) == 0)
    }

    @Test(arguments: [
        "", "1970", "1970-1-1", "1970-13-01", "1970-00-01", "1970-02-29", "1900-02-29",
        "1970-04-31",
        "1970-01-00", "1970-01-01T", "1970-01-01T24:00", "1970-01-01T00:60", "1970-01-01T00:00:60",
        "1970-01-01T00:00:00.Z", "1970-01-01T00:00Zx", "1970-01-01T00:00+", "1970-01-01T00:00+1",
        "1970-01-01T00:00+24:00", "1970-01-01Z", "x970-01-01", "\u{0661}970-01-01",
    ])
    func `other texts are no dates`(text: String) {
        #expect(ISO8601.parse(text) == nil)
    }

    @Test func `dates out of range are clamped and random ones survive`() {
        #expect(ISO8601.format(millisecondsSince1970: .max) == "9999-12-31T23:59:59.999Z")
        #expect(ISO8601.format(millisecondsSince1970: .min) == "0000-01-01T00:00:00.000Z")
        for round in Soak.rounds(test: 2000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 31)
            let date = Int64.random(in: -62_167_219_200_000...253_402_300_799_999, using: &random)
            #expect(ISO8601.parse(ISO8601.format(millisecondsSince1970: date)) == date)
        }
    }

    @Test func `values hold dates as text`() {
        let value = JSONValue.date(millisecondsSince1970: 1)
        #expect(value == "1970-01-01T00:00:00.001Z")
        #expect(value.millisecondsSince1970 == 1)
        #expect(PackedValue(value).millisecondsSince1970 == 1)
        #expect((5 as JSONValue).millisecondsSince1970 == nil)
    }
}
