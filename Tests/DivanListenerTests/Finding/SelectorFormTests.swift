// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import Testing

@testable import DivanListener

@Suite struct SelectorFormTests {
    @Test(arguments: [
        ("{}", "{}"), ("{\"a\":1}", "{\"a\":{\"$eq\":1}}"),
        ("{\"a\":{\"b\":2}}", "{\"a.b\":{\"$eq\":2}}"),
        ("{\"a\":{}}", "{\"a\":{\"$eq\":{}}}"),
        ("{\"a\":1,\"b\":2}", "{\"$and\":[{\"a\":{\"$eq\":1}},{\"b\":{\"$eq\":2}}]}"),
        ("{\"a\":{\"$gt\":1,\"$lt\":5}}", "{\"$and\":[{\"a\":{\"$gt\":1}},{\"a\":{\"$lt\":5}}]}"),
        (
            "{\"$or\":[{\"a\":1},{\"b\":{\"$in\":[1]}}]}",
            "{\"$or\":[{\"a\":{\"$eq\":1}},{\"b\":{\"$in\":[1]}}]}"
        ),
        ("{\"a\":{\"$elemMatch\":{\"$eq\":1}}}", "{\"a\":{\"$elemMatch\":{\"$eq\":1}}}"),
        ("{\"$not\":{\"a\":1}}", "{\"$not\":{\"a\":{\"$eq\":1}}}"),
    ])
    func `a selector is shown with all its operators`(given: String, shown: String) throws {
        #expect(SelectorForm.normal(try JSONParser.parse(given)) == (try JSONParser.parse(shown)))
    }
}
