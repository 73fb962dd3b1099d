// SPDX-License-Identifier: Apache-2.0
//
// What every context begins with: the functions that scripts of design documents call, and the commands of CouchDB's
// query-server protocol.
//
//      command line ──► answer(line) ──► one line, or several: log lines first, the answer last
//                          │
//                          ├─ a call begins: all that scripts may change is made anew
//                          ├─ the script runs: emit, log, send … write into the call; only getRow does I/O
//                          └─ the call ends: what scripts have made is forgotten
//
// Nothing passes from one call to the next:
// - All objects of the language are frozen, and so is the global object. A variable that a script does not declare goes to
//   the call: the prototype of the global object is a proxy that keeps it there.
// - The text of a function is compiled once, and evaluated anew by every call. So no variable that its text declares
//   outlives a call, nor does a module.
// - What could carry state past a call is removed: RegExp.$1 and its like, WeakRef, Atomics.
// - As in CouchDB, a script compiles no further scripts: eval and Function refuse.
//
// It is written in what all engines parse: ECMAScript 5 with `const`. What only some have is compiled as a text, or looked for.
//
// It is one expression, a function of `exchange(text, isLast)`, which writes lines. Without `isLast` it returns the next line
// that is read; when that is true, it ends the process; when it is false, it only writes. Duktape has two arguments more:
// `replaceGlobal(object)` gives the scripts another global object, since its own cannot have a prototype that is a proxy, and
// `program(text)` makes a function of a whole program, since Function ends its body where the first brace closes it.
(function (exchange, replaceGlobal, program) {
    "use strict";

    const parse = JSON.parse;
    const stringify = JSON.stringify;
    const now = Date.now;
    const callOf = Function.prototype.call;
    const sourceOf = callOf.bind(Function.prototype.toString);
    const hasOwn = callOf.bind(Object.prototype.hasOwnProperty);
    const slice = callOf.bind(Array.prototype.slice);
    const Compiled = Function;
    const root = globalThis;
    // The prototype of the global object, where that has one of its own.
    const scope = replaceGlobal ? root : Object.getPrototypeOf(root);

    // Each name is one of its own, `__proto__` as well.
    function dictionary() {
        return Object.create(null);
    }

    // MARK: The call

    var call = null;
    var spare = null;

    // The call in progress. Callbacks that a script leaves behind run after it, and find none.
    function current() {
        if (call === null) throw new Error("The function has returned.");
        return call;
    }

    // Most calls map a document, and each member costs: a call has only what that needs, and lists when something is put into them.
    // One that logged nothing and rendered nothing has only what is cleared here, so it serves again.
    function begin() {
        if (spare !== null) {
            call = spare;
            spare = null;
            call.rows = call.globals = call.modules = call.service = null;
        } else {
            call = { globals: null, logs: null, rows: null, modules: null, service: null, chunks: null };
        }
    }

    // The call in progress, with what a function that renders writes into it. What it says of its answer is undefined until then.
    function rendering() {
        if (current().chunks === null) {
            call.chunks = [];
            call.offers = [];
            call.head = {};
        }
        return call;
    }

    // MARK: What scripts call

    function text(value) {
        return typeof value === "string" ? value : String(stringify(value));
    }

    function addRow(row) {
        // Not `current().rows`: this runs for each row of each document.
        if (call === null) current();
        if (call.rows === null) call.rows = [row];
        else call.rows.push(row);
    }

    const scriptFunctions = {
        emit: function (key, value) {
            addRow([key, value]);
        },
        sum: function (values) {
            var total = 0;
            for (var index in values) total += values[index];
            return total;
        },
        log: function (message) {
            const line = wellFormed(stringify(["log", text(message)]));
            (current().logs || (call.logs = [])).push(line);
        },
        toJSON: function (value) {
            return stringify(value);
        },
        isArray: function (value) {
            return Array.isArray(value);
        },
        provides: function (name, producer) {
            rendering().offers.push([name, producer]);
        },
        registerType: function (name) {
            rendering();
            call.types = call.types || Object.create(knownTypes);
            call.names = call.names || Object.create(knownNames);
            register(call.types, call.names, name, slice(arguments, 1));
        },
        start: function (head) {
            rendering().head = head || {};
            call.hasHead = true;
        },
        send: function (chunk) {
            rendering().chunks.push(String(chunk));
        },
        getRow: getRow,
    };

    const emit = scriptFunctions.emit;

    // MARK: Search indexes

    function checkType(what, value, type) {
        if (typeof value !== type) throw new TypeError(what + " must be a " + type + " not " + typeof value);
    }

    function checkName(name) {
        checkType("name", name, "string");
        if (name.charAt(0) === "_") throw { name: "ReservedName", message: "name must not start with an underscore" };
    }

    // index("name", value, options), of `_search`
    function searchField(name, value, options) {
        checkName(name);
        if (["string", "number", "boolean"].indexOf(typeof value) < 0) {
            throw new TypeError("value must be a string, a number or boolean not " + typeof value);
        }
        if (options) checkType("options", options, "object");
        return [name, value, options || {}];
    }

    // index("type", "name", value, options), of `_nouveau`
    function nouveauField(type, name, value, options) {
        checkType("type", type, "string");
        checkName(name);
        if (type === "stored") {
            if (typeof value !== "string" && typeof value !== "number") {
                throw new TypeError("a stored value must be a string or number");
            }
        } else if (["text", "string", "double"].indexOf(type) >= 0) {
            checkType("value", value, type === "double" ? "number" : "string");
        } else {
            throw new TypeError(type + " not supported");
        }
        const store = options === undefined || options === null ? undefined : options.store;
        return { "@type": type, name: name, value: value, store: store };
    }

    // What functions of search indexes call. To all others `index` is a name like any other, which they may give a variable.
    const searchFunctions = {
        search: function (name, value, options) {
            addRow(searchField(name, value, options));
        },
        nouveau: function (type, name, value, options) {
            addRow(nouveauField(type, name, value, options));
        },
    };

    // What a function of a search index finds beside what all do.
    function ownGlobals() {
        const globals = dictionary();
        globals.index = searchFunctions[call.service];
        return globals;
    }

    // MARK: Errors

    // An error that ends the command. A script may throw arrays of the same form, as CouchDB's may.
    function refuse(name, reason) {
        throw ["error", name, reason];
    }

    // What an exception says; a script may have thrown anything, and its getters may throw, too.
    function description(error) {
        try {
            if (typeof error === "object" && error !== null && !(error instanceof Error)) return String(stringify(error));
            return String(error);
        } catch (ignored) {
            return "an exception that cannot be shown";
        }
    }

    // The answer to a command that threw: ["error", name, reason]. CouchDB ends the process after ["fatal", …].
    function failure(error) {
        var parts;
        var isFatal = false;
        try {
            if (Array.isArray(error) && (error[0] === "error" || error[0] === "fatal")) {
                isFatal = error[0] === "fatal";
                parts = [error[1], error[2]];
            } else if (typeof error === "object" && error !== null && error.error && error.reason) {
                parts = [error.error, error.reason];
            } else if (typeof error === "object" && error !== null && error.name) {
                parts = [error.name, description(error)];
            }
            if (parts) parts = [text(parts[0]), text(parts[1])];
        } catch (ignored) {
            parts = undefined;
        }
        parts = parts || ["unnamed_error", description(error)];
        const line = stringify(["error", parts[0], parts[1]]);
        if (isFatal) exchange(wellFormed(waiting.concat(call === null ? [] : call.logs || [], line).join("\n")), true);
        return line;
    }

    // MARK: Functions and modules

    const MOST_COMPILED = 256;

    // What texts were compiled to, of one kind.
    function Cache() {
        this.clear();
    }

    Cache.prototype.clear = function () {
        this.made = dictionary();
        this.count = 0;
    };

    // Keeps what was compiled. A script can reach it by `arguments.callee`, so it is frozen.
    Cache.prototype.keep = function (source, made) {
        Object.freeze(made);
        Object.freeze(made.prototype);
        if (this.count >= MOST_COMPILED) this.clear();
        this.made[source] = made;
        this.count++;
        return made;
    };

    const functions = new Cache();
    const modules = new Cache();

    // Throws where a text is not the body of a function. One that closes the brace before itself and opens the one behind it
    // cannot fit both programs: what follows a brace of `try` can follow no function.
    function checkBody(body) {
        program("(function () {\n" + body + "\n})");
        program("(function () { try {\n" + body + "\n} finally {} })");
    }

    // Makes a function. Where the global object is a proxy, names of the frozen one are found before it.
    function compiled(parameters, body) {
        if (!replaceGlobal) return Compiled(parameters, body);
        checkBody(body);
        const inside = "return function (" + parameters + ") {\n" + body + "\n};";
        return program("(function () { with (arguments[0]) " + inside + " })")()(root);
    }

    function compile(parameters, source) {
        try {
            return compiled(parameters, "return (\n" + source + "\n)");
        } catch (error) {
            // A semicolon after the function, or a second function.
            try {
                return compiled(parameters, "return " + source.replace(/^\s+/, ""));
            } catch (ignored) {
                throw error;
            }
        }
    }

    // The text as an error quotes it.
    function shown(source) {
        return source.length > 1000 ? source.slice(0, 1000) + "…" : source;
    }

    function endCompilation(error, source) {
        if (Array.isArray(error) && error[0] === "error") throw error;
        refuse("compilation_error", description(error) + " (" + shown(source) + ")");
    }

    // What the text of a function is compiled to. It finds `emit` sooner as a parameter than as a name of the global object.
    function makerOf(source) {
        if (typeof source !== "string" || source === "") refuse("not_found", "missing function");
        if (functions.made[source] !== undefined) return functions.made[source];
        try {
            return functions.keep(source, compile("require, emit", source));
        } catch (error) {
            return endCompilation(error, source);
        }
    }

    // Makes the function of a text anew, with `require` of a tree of modules.
    function functionOf(source, tree) {
        return madeAnew(makerOf(source), source, tree);
    }

    function madeAnew(make, source, tree) {
        var result;
        try {
            result = make(tree === null ? undefined : requiring([], tree), emit);
        } catch (error) {
            endCompilation(error, source);
        }
        if (typeof result !== "function") {
            refuse("compilation_error", "Expression does not eval to a function. (" + shown(source) + ")");
        }
        return result;
    }

    // The function `require` of the module in `place`, an array of names.
    function requiring(place, tree) {
        return function (path) {
            return moduleAt(path, place, tree);
        };
    }

    // The exports of a module: `path` is seen from the module in `place`.
    function moduleAt(path, place, tree) {
        const names = String(path).split("/");
        const isRelative = names[0] === "." || names[0] === "..";
        const full = isRelative ? place.slice(0, -1) : [];
        if (isRelative && place.length === 0) refuse("invalid_require_path", "Object has no parent: " + path);
        names.forEach(function (name) {
            if (name === ".") return;
            if (name !== "..") full.push(name);
            else if (full.length === 0) refuse("invalid_require_path", "Object has no parent: " + path);
            else full.pop();
        });
        const source = memberAt(full, tree, function (name) {
            refuse("invalid_require_path", 'Object has no property "' + name + '": ' + path);
        });
        if (typeof source !== "string") {
            refuse("invalid_require_path", "Must require a JavaScript string, not: " + typeof source);
        }
        return exportsOf(source, full, tree, path);
    }

    // What stands at a path of names in a document; `missing(name)` throws where nothing does.
    function memberAt(names, tree, missing) {
        return names.reduce(function (value, name) {
            if (typeof value !== "object" || value === null || !hasOwn(value, name)) missing(name);
            return value[name];
        }, tree);
    }

    function exportsOf(source, place, tree, path) {
        const id = place.join("/");
        current().modules = call.modules || dictionary();
        if (call.modules[id]) return call.modules[id].exports;
        const module = { id: id, exports: {} };
        // Before it is evaluated, so that modules may require each other.
        call.modules[id] = module;
        try {
            const make = modules.made[source] || modules.keep(source, compiled("module, exports, require", source));
            make.call(module.exports, module, module.exports, requiring(place, tree));
        } catch (error) {
            if (Array.isArray(error) && error[0] === "error") throw error;
            refuse("compilation_error", "Module require('" + path + "') raised error " + description(error));
        }
        return module.exports;
    }

    // MARK: Views

    // `makers` is what `sources` are compiled to.
    const views = { sources: [], makers: [], tree: null, config: {} };

    // A view's function that throws emits nothing, and the log says so; unless it threw what ends the command.
    function endViewError(error, id) {
        if (error === "fatal_error") refuse("map_runtime_error", "function raised 'fatal_error'");
        var isFatal = false;
        try {
            isFatal = Array.isArray(error) && error[0] === "fatal";
        } catch (ignored) {}
        if (isFatal) throw error;
        const document = id === undefined ? "" : " with doc._id " + description(id);
        scriptFunctions.log("function raised exception " + description(error) + document);
    }

    // Runs the map functions on a document, each on one of its own, since the one before may have changed it. `text` is its JSON, or
    // a command with it.
    function mapDocument(document, text, isCommand) {
        var answer = rowsOf(0, document, text, isCommand);
        for (var index = 1; index < views.sources.length; index++) {
            answer += "," + rowsOf(index, documentOf(text, isCommand), text, isCommand);
        }
        return "[" + answer + "]";
    }

    function documentOf(text, isCommand) {
        return isCommand ? parse(text)[1] : parse(text);
    }

    // What one of the map functions emits, as text; nothing where there is none.
    function rowsOf(index, document, text, isCommand) {
        if (index >= views.sources.length) return "";
        call.rows = null;
        call.globals = call.service === null ? null : ownGlobals();
        call.modules = null;
        try {
            madeAnew(views.makers[index], views.sources[index], views.tree)(document);
            return call.rows === null ? "[]" : stringify(call.rows);
        } catch (error) {
            const whole = documentOf(text, isCommand);
            endViewError(error, whole === null ? undefined : whole._id);
            return "[]";
        }
    }

    // Answers that wait until those of other documents of their line are there, too.
    const waiting = [];
    const LONGEST_WAIT = 20;

    // Maps the documents of one line, `["map_docs"]⇥{…}⇥{…}`, each by a call of its own, with an answer for each. Where documents
    // are whole that takes half the time of a line for each; where they are short, about as much. A tab stands in no JSON text but
    // between its parts, where Divan writes none.
    //
    // What waits is written from time to time, since the parent gives each document its time anew when an answer comes; also
    // when the clock was set back.
    function mapDocuments(service, line) {
        const texts = line.split("\t");
        var since = now();
        for (var index = 1; index < texts.length; index++) {
            const elapsed = now() - since;
            if (elapsed > LONGEST_WAIT || elapsed < 0) {
                exchange(wellFormed(waiting.splice(0).join("\n")), false);
                since = now();
            }
            waiting.push(mapText(service, texts[index]));
        }
        return waiting.splice(0).join("\n");
    }

    function mapText(service, text) {
        begin();
        call.service = service;
        var result;
        try {
            result = mapDocument(parse(text), text, false);
        } catch (error) {
            result = failure(error);
        }
        return ended(result);
    }

    // MARK: What map functions read

    const MOST_NAMES = 32;

    // The properties that the map functions read of a document, as far as their texts show; null when they may read any. The
    // parent then sends no others, which is most of what a short function costs.
    function propertiesRead() {
        const names = [];
        for (var index = 0; index < views.sources.length; index++) {
            const source = views.sources[index];
            const found = namesIn(functionOf(source, views.tree), source);
            if (found === null) return null;
            found.forEach(function (name) {
                if (names.indexOf(name) < 0) names.push(name);
            });
        }
        return names.length > MOST_NAMES ? null : names;
    }

    const showsSources = sourceOf(function () { return 1; }).indexOf("1") >= 0;

    // The text of a function whose source is nothing else, so that each call evaluates to it; null for another source. Where the
    // engine does not tell it, what stands between the first and the last brace must be the body of a function.
    function textOf(script, source) {
        const whole = source.trim().replace(/;$/, "");
        if (showsSources) {
            const text = sourceOf(script);
            return whole === text || whole === "(" + text + ")" ? text : null;
        }
        const bare = whole.replace(/^\(([^]*)\)$/, "$1");
        const parts = /^function[^{}]*\{([^]*)\}$/.exec(bare);
        if (parts === null) return null;
        try {
            checkBody(parts[1]);
            return bare;
        } catch (ignored) {
            return null;
        }
    }

    // The names behind the parameter of a function: all places where the parameter stands must be `document.name` or
    // `document["name"]`. In doubt null: the function then gets whole documents.
    function namesIn(script, source) {
        const text = textOf(script, source);
        if (text === null) return null;
        const head = /^(?:function\s*(?:[A-Za-z_$][\w$]*\s*)?\(\s*([A-Za-z_$][\w$]*)\s*\)|\(\s*([A-Za-z_$][\w$]*)\s*\)\s*=>|([A-Za-z_$][\w$]*)\s*=>)/.exec(text);
        if (head === null || /\\u|\barguments\b|<!--|-->/.test(text)) return null;
        const parameter = (head[1] || head[2] || head[3]).replace(/\$/g, "\\$");
        const use = new RegExp(
            "(?:^|[^\\w$])" + parameter + "(?![\\w$])"
                + "(?:\\s*\\??\\.\\s*([A-Za-z_$][\\w$]*)(?![\\w$\\u0080-\\uffff])|\\s*\\[\\s*([\"'])([^\"'\\\\]*)\\2\\s*\\])?", "g");
        const body = withoutComments(text.slice(head[0].length), use);
        const names = [];
        for (var found = use.exec(body); found !== null; found = use.exec(body)) {
            const name = found[1] === undefined ? found[3] : found[1];
            // What an object has without having it itself may give the object away, as `valueOf` does.
            if (name === undefined || name in Object.prototype) return null;
            names.push(name);
        }
        return names;
    }

    // A function's text without its comments, and with another text in place of each that has the parameter in it. It is left
    // as it is where a slash may begin a regular expression, or where a template is: so names are found that are none.
    function withoutComments(text, use) {
        var isPlain = true;
        const plain = text.replace(/\/\*[^]*?\*\/|\/\/.*|"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'|[`/]/g, function (part) {
            if (part.length === 1) isPlain = false;
            if (part.charAt(0) === "/") return " ";
            return part.search(use) < 0 ? part : '"\\"';
        });
        return isPlain ? plain : text;
    }

    // MARK: Reductions

    function reduce(sources, keys, values, isRereduce, inputLength) {
        const answers = sources.map(function (source, index) {
            const isLast = index + 1 === sources.length;
            call.globals = null;
            try {
                const copies = isLast ? [keys, values] : parse(stringify([keys, values]));
                const answer = stringify(functionOf(source, null)(copies[0], copies[1], isRereduce));
                return answer === undefined ? "null" : answer;
            } catch (error) {
                if (Array.isArray(error) && error[1] === "compilation_error") throw error;
                endViewError(error);
                return "null";
            }
        });
        const output = "[" + answers.join(",") + "]";
        const limit = views.config.reduce_limit;
        const inputSize = inputLength - sources.map(String).join("").length;
        if (limit && output.length > 4096 && output.length * 2 > inputSize) {
            const reason = "Reduce output must shrink more rapidly: "
                + "input size: " + inputSize + " output size: " + output.length;
            if (limit !== "log") refuse("reduce_overflow_error", reason);
            scriptFunctions.log("reduce_overflow_error: " + reason);
        }
        return "[true," + output + "]";
    }

    function itemOf(index) {
        return function (array) {
            return array[index];
        };
    }

    // MARK: Types of content

    const knownTypes = dictionary();
    const knownNames = dictionary();

    function register(types, names, name, list) {
        types[name] = list;
        list.forEach(function (type) {
            names[type] = name;
        });
    }

    [
        ["all", "*/*"],
        ["text", "text/plain; charset=utf-8", "txt"],
        ["html", "text/html; charset=utf-8"],
        ["xhtml", "application/xhtml+xml", "xhtml"],
        ["xml", "application/xml", "text/xml", "application/x-xml"],
        ["js", "text/javascript", "application/javascript", "application/x-javascript"],
        ["css", "text/css"],
        ["ics", "text/calendar"],
        ["csv", "text/csv"],
        ["rss", "application/rss+xml"],
        ["atom", "application/atom+xml"],
        ["yaml", "application/x-yaml", "text/yaml"],
        ["multipart_form", "multipart/form-data"],
        ["url_encoded_form", "application/x-www-form-urlencoded"],
        ["json", "application/json", "text/x-json"],
    ].forEach(function (words) {
        register(knownTypes, knownNames, words[0], words.slice(1));
    });

    function trimmed(text) {
        return text.trim();
    }

    // The parts of "text/html;level=1;q=0.5".
    function mediaRange(value) {
        const parts = value.split(";").map(trimmed);
        const types = (parts[0] === "*" ? "*/*" : parts[0]).split("/");
        const parameters = dictionary();
        parts.slice(1).forEach(function (part) {
            const words = part.split("=").map(trimmed);
            parameters[words[0]] = words[1];
        });
        const quality = parseFloat(parameters.q === undefined ? "1" : parameters.q);
        return {
            type: types[0], subtype: types[1] === undefined ? "*" : types[1], parameters: parameters,
            quality: quality >= 0 && quality <= 1 ? quality : 1,
        };
    }

    function isFitting(mine, theirs) {
        return mine === theirs || mine === "*" || theirs === "*";
    }

    // How well a range of an Accept header fits a type: more parts that are equal fit better; -1 when it does not.
    function fitness(type, range) {
        if (!isFitting(type.type, range.type) || !isFitting(type.subtype, range.subtype)) return -1;
        var score = (type.type === range.type ? 100 : 0) + (type.subtype === range.subtype ? 10 : 0);
        for (var name in type.parameters) if (name !== "q" && range.parameters[name] === type.parameters[name]) score++;
        return score;
    }

    // The type that an Accept header likes best; the first of equals.
    function bestType(types, accept) {
        const ranges = accept.split(",").map(mediaRange);
        var best = { score: -1, quality: 0, type: null };
        types.forEach(function (type) {
            const parsed = mediaRange(type);
            ranges.forEach(function (range) {
                const score = fitness(parsed, range);
                if (score > best.score || score === best.score && score >= 0 && range.quality > best.quality) {
                    best = { score: score, quality: range.quality, type: type };
                }
            });
        });
        return best.quality > 0 ? best.type : null;
    }

    // Runs the function that was given for the type that the client asks for.
    function produce(request, designDocument) {
        const types = call.types || knownTypes;
        const names = call.names || knownNames;
        const asked = request || {};
        const accept = (asked.headers || {}).Accept;
        const format = (asked.query || {}).format;
        const offered = call.offers.map(function (offer) {
            return types[offer[0]] || [];
        });
        var name = null;
        if (format) {
            name = format;
            call.contentType = (types[name] || [null])[0];
        } else if (accept) {
            call.contentType = bestType([].concat.apply([], offered), String(accept));
            name = names[call.contentType] || null;
        } else {
            name = call.offers[0][0];
            call.contentType = offered[0].length > 0 ? offered[0][0] : null;
        }
        for (var index = 0; index < call.offers.length; index++) {
            if (call.offers[index][0] === name) return call.offers[index][1].call(designDocument);
        }
        const list = offered.map(function (types, index) {
            return types.join(", ") || call.offers[index][0];
        });
        return refuse("not_acceptable", "Content-Type " + (accept || name) + " not supported, try one of: " + list.join(", "));
    }

    // MARK: Shows, lists, updates

    function wrapped(response) {
        return typeof response === "string" ? { body: response } : response;
    }

    function isResponse(response) {
        return typeof response === "object" && response !== null && !Array.isArray(response);
    }

    function withContentType(response) {
        response.headers = response.headers || {};
        if (call.contentType) response.headers["Content-Type"] = response.headers["Content-Type"] || call.contentType;
        return response;
    }

    function exchangeRow(label, head) {
        const line = wellFormed(stringify(head === undefined ? [label, call.chunks] : [label, call.chunks, head]));
        const lines = (call.logs || []).concat(line).join("\n");
        call.logs = null;
        call.chunks = [];
        call.hasHead = false;
        return exchange(lines);
    }

    // Only a list may read: what stands behind any other command is the next one.
    function getRow() {
        if (!current().isList) throw new Error("getRow is for lists alone.");
        if (call.isAtEnd) return null;
        var line;
        if (!call.hasRows) {
            call.hasRows = true;
            line = exchangeRow("start", withContentType(call.head));
        } else {
            line = exchangeRow("chunks", call.hasHead ? call.head : undefined);
        }
        var row;
        try {
            row = parse(line);
        } catch (ignored) {}
        row = row || [];
        if (row[0] === "list_end") {
            call.isAtEnd = true;
            return null;
        }
        // At once: a script could catch an error, and go on with what is another command's.
        if (row[0] !== "list_row") exchange(stringify(["error", "list_error", "not a row"]), true);
        return row[1];
    }

    // An error of a function that renders; those that have CouchDB's form are what they are.
    function endRenderError(error, name) {
        var hasForm = false;
        try {
            hasForm = Array.isArray(error) && (error[0] === "error" || error[0] === "fatal")
                || isResponse(error) && Boolean(error.error && error.reason);
        } catch (ignored) {}
        if (hasForm) throw error;
        var stack = "";
        try {
            if (error instanceof Error) stack = " \nstacktrace: " + error.stack;
        } catch (ignored) {}
        const message = "function raised error: " + description(error) + stack;
        scriptFunctions.log(message);
        refuse(name || "render_error", message);
    }

    function assign(target, source) {
        for (var names = Object.keys(source), index = 0; index < names.length; index++) target[names[index]] = source[names[index]];
        return target;
    }

    function runShow(script, designDocument, args) {
        rendering();
        try {
            var response = wrapped(script.apply(designDocument, args) || {});
            if (call.chunks.length > 0) {
                response.headers = response.headers || {};
                // CouchDB's shows start with header fields themselves, its lists with an object that has them.
                assign(response.headers, call.head.headers || call.head);
                response.body = call.chunks.join("") + (response.body || "");
                call.chunks = [];
            }
            if (call.offers.length > 0) {
                const provided = wrapped(produce(args[1], designDocument) || {});
                const body = (response.body || "") + call.chunks.join("") + (provided.body || "");
                response = withContentType(assign(assign(assign({}, response), provided), { body: body }));
            }
            if (!isResponse(response)) refuse("render_error", "undefined response from show function");
            return stringify(["resp", response]);
        } catch (error) {
            const path = args[0] === null && args[1] ? args[1].path : null;
            if (path && path.length > 5) refuse("not_found", "document not found");
            return endRenderError(error);
        }
    }

    function runUpdate(script, designDocument, args) {
        try {
            if (args[1] && args[1].method === "GET") refuse("method_not_allowed", "Update functions do not allow GET");
            const result = script.apply(designDocument, args);
            const response = wrapped(result[1]);
            if (!isResponse(response)) refuse("render_error", "undefined response from update function");
            return stringify(["up", result[0], response]);
        } catch (error) {
            return endRenderError(error);
        }
    }

    function runList(script, designDocument, args) {
        rendering().isList = true;
        try {
            var tail = script.apply(designDocument, args);
            if (call.offers.length > 0) tail = produce(args[1], designDocument);
            if (!call.hasRows) getRow();
            if (tail !== undefined) call.chunks.push(tail);
            return stringify(call.hasHead ? ["end", call.chunks, call.head] : ["end", call.chunks]);
        } catch (error) {
            return endRenderError(error);
        }
    }

    // MARK: Filters, validation, rewriting

    // The function is made anew for each document, as it is for a map.
    function filterEach(make, documents, isPassing) {
        const answers = documents.map(function (document) {
            call.rows = null;
            call.globals = null;
            call.modules = null;
            return Boolean(isPassing(make(), document));
        });
        return stringify([true, answers]);
    }

    function runValidation(script, designDocument, args) {
        try {
            script.apply(designDocument, args);
            return "1";
        } catch (error) {
            if (error instanceof Error || Array.isArray(error)) throw error;
            const line = stringify(error);
            // What it becomes may be another thing, such as the answer of a validation that has passed.
            if (/^[{"]/.test(line)) return line;
            return refuse("unnamed_error", description(error));
        }
    }

    function runRewrite(script, designDocument, args) {
        try {
            const result = script.apply(designDocument, args);
            if (!result) return stringify(["no_dispatch_rule"]);
            const method = args[0] ? args[0].method : undefined;
            return stringify(["ok", typeof result === "string" ? { path: result, method: method } : result]);
        } catch (error) {
            return endRenderError(error, "rewrite_error");
        }
    }

    // A kind whose function is called once.
    function once(run) {
        return function (make, document, args) {
            return run(make(), document, args);
        };
    }

    const kinds = {
        shows: once(runShow),
        lists: once(runList),
        updates: once(runUpdate),
        validate_doc_update: once(runValidation),
        rewrites: once(runRewrite),
        filters: function (make, document, args) {
            // Each document has a request of its own, since the filter of the one before may have changed it.
            const request = stringify(args[1] === undefined ? null : args[1]);
            return filterEach(make, args[0], function (script, one) {
                return script.call(document, one, parse(request));
            });
        },
        views: function (make, document, args) {
            return filterEach(make, args[0], function (script, one) {
                script.call(undefined, one);
                return call.rows !== null;
            });
        },
    };

    // MARK: Commands

    var designDocument = null;

    function frozen(value) {
        if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
            Object.freeze(value);
            Object.keys(value).forEach(function (name) {
                frozen(value[name]);
            });
        }
        return value;
    }

    function runDesignFunction(id, path, args) {
        if (designDocument === null) throw ["fatal", "query_protocol_error", "uncached design doc: " + id];
        if (!hasOwn(kinds, path[0])) {
            throw ["fatal", "unknown_command", "unknown ddoc command '" + description(path[0]) + "'"];
        }
        const source = memberAt(path, designDocument, function () {
            refuse("not_found", "missing " + path[0] + " function " + path[path.length - 1] + " on design doc " + id);
        });
        function make() {
            return functionOf(source, designDocument);
        }
        return kinds[path[0]](make, designDocument, args);
    }

    // Half a character, as a script makes when it cuts a text inside one, stands in no text that others read.
    function wellFormed(line) {
        if (line.indexOf("\\ud") < 0) return line;
        return line.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, function (found) {
            return found === "\\\\" ? found : "\\ufffd";
        });
    }

    // Each gets the whole command, an array that begins with its name, and its line.
    const commands = {
        reset: function (command) {
            functions.clear();
            modules.clear();
            assign(views, { sources: [], makers: [], tree: null, config: command[1] || {} });
            return "true";
        },
        add_lib: function (command) {
            views.tree = frozen({ views: { lib: command[1] } });
            return "true";
        },
        add_fun: function (command) {
            functionOf(command[1], views.tree);
            views.makers.push(makerOf(command[1]));
            views.sources.push(command[1]);
            return "true";
        },
        properties: function () {
            return stringify(propertiesRead());
        },
        map_doc: mapping(null),
        index_doc: mapping("search"),
        nouveau_index_doc: mapping("nouveau"),
        reduce: function (command, line) {
            const rows = command[2];
            return reduce(command[1], rows.map(itemOf(0)), rows.map(itemOf(1)), false, line.length);
        },
        rereduce: function (command, line) {
            return reduce(command[1], null, command[2], true, line.length);
        },
        ddoc: function (command) {
            if (command[1] !== "new") return runDesignFunction(command[1], command[2], command[3]);
            functions.clear();
            modules.clear();
            designDocument = frozen(command[3]);
            return "true";
        },
    };

    function mapping(service) {
        return function (command, line) {
            call.service = service;
            return mapDocument(command[1], line, true);
        };
    }

    // What services the functions are for that a line maps many documents by.
    const services = assign(dictionary(), {
        '["map_docs"]': null, '["index_docs"]': "search", '["nouveau_index_docs"]': "nouveau",
    });

    // Makes a call, and gives its answer behind its log lines.
    function answerOf(run) {
        begin();
        var result;
        try {
            result = run();
        } catch (error) {
            result = failure(error);
        }
        return ended(result);
    }

    // Ends the call: its answer behind its log lines.
    function ended(result) {
        const logs = call.logs;
        if (logs === null && call.chunks === null) spare = call;
        call = null;
        return logs === null ? result : logs.join("\n") + "\n" + result;
    }

    function answer(line) {
        const end = line.indexOf("\t");
        const service = end < 0 ? undefined : services[line.slice(0, end)];
        if (service !== undefined) return wellFormed(mapDocuments(service, line));
        return wellFormed(
            answerOf(function () {
                const command = parse(line);
                const name = command[0];
                if (!hasOwn(commands, name)) throw ["fatal", "unknown_command", "unknown command '" + description(name) + "'"];
                return commands[name](command, line);
            })
        );
    }

    // MARK: Sealing

    function refuses() {
        throw new EvalError("Scripts of design documents cannot compile scripts.");
    }

    function define(object, name, value) {
        Object.defineProperty(object, name, { value: value, writable: false, enumerable: false, configurable: true });
    }

    // What a text makes; undefined in an engine that lacks the syntax or the object.
    function made(source) {
        try {
            return Compiled("return (" + source + ")")();
        } catch (ignored) {
            return undefined;
        }
    }

    Object.keys(scriptFunctions).forEach(function (name) {
        define(root, name, scriptFunctions[name]);
    });
    [
        "Atomics", "FinalizationRegistry", "SharedArrayBuffer", "WeakRef", "WebAssembly", "console",
        "Buffer", "CBOR", "Duktape", "TextDecoder", "TextEncoder", "performance",
    ].forEach(function (name) {
        delete root[name];
    });
    // RegExp.$1, RegExp.input, …: what the last match found, in whichever script.
    Object.getOwnPropertyNames(RegExp).forEach(function (name) {
        if (["prototype", "length", "name", "escape"].indexOf(name) < 0) delete RegExp[name];
    });
    // In ECMAScript 5 Date.prototype is a date, too, and its time is nothing that freezing keeps.
    if (Object.prototype.toString.call(Date.prototype) === "[object Date]") {
        Object.getOwnPropertyNames(Date.prototype).filter(function (name) {
            return /^set/.test(name);
        }).forEach(function (name) {
            const set = Date.prototype[name];
            define(Date.prototype, name, function () {
                if (this === Date.prototype) throw new TypeError("Date.prototype is read-only.");
                return set.apply(this, arguments);
            });
        });
    }
    const syntaxes = ["function () {}", "function* () {}", "async function () {}", "async function* () {}"].map(made);
    syntaxes.forEach(function (one) {
        if (one === undefined) return;
        const prototype = Object.getPrototypeOf(one);
        const constructor = function () {
            refuses();
        };
        constructor.prototype = prototype;
        define(prototype, "constructor", constructor);
        if (prototype === Function.prototype) define(root, "Function", constructor);
    });
    define(root, "eval", refuses);

    // Once a prototype is frozen, an assignment to a property of that name on an object that inherits from it would fail, too.
    // As an accessor it makes the object's own property, as scripts expect.
    const OVERRIDDEN = ["constructor", "toString", "toLocaleString", "valueOf", "toJSON", "name", "message"];

    function letOverride(prototype, name) {
        const known = Object.getOwnPropertyDescriptor(prototype, name);
        if (known === undefined || !known.configurable || !("value" in known)) return;
        // Behind the accessor nothing else would find it.
        reached.push(known.value);
        const get = function () {
            return known.value;
        };
        const set = function (value) {
            if (this === prototype) throw new TypeError(name + " is read-only.");
            Object.defineProperty(this, name, { value: value, writable: true, enumerable: true, configurable: true });
        };
        // Otherwise these would be prototypes, too, and get accessors.
        get.prototype = set.prototype = undefined;
        Object.defineProperty(prototype, name, { get: get, set: set, enumerable: false, configurable: false });
    }

    // Values that are to be frozen, with all that they lead to. What cannot be extended was reached before.
    const reached = [];

    function reachMembers(value) {
        reached.push(Object.getPrototypeOf(value));
        Reflect.ownKeys(value).forEach(function (name) {
            const property = Object.getOwnPropertyDescriptor(value, name);
            reached.push(property.value, property.get, property.set);
        });
    }

    function seal() {
        while (reached.length > 0) {
            const value = reached.pop();
            if ((typeof value !== "object" && typeof value !== "function") || !Object.isExtensible(value)) continue;
            if (value === root || value === scope) continue;
            // Objects with a constructor are prototypes.
            if (hasOwn(value, "constructor")) {
                (value === Object.prototype ? Reflect.ownKeys(value) : OVERRIDDEN).forEach(function (name) {
                    letOverride(value, name);
                });
            }
            reachMembers(value);
            Object.freeze(value);
        }
    }

    // Objects that nothing names: iterators, and what an object of strict arguments has.
    const hidden = [
        "[].values()", "new Map().entries()", "new Set().values()", "''[Symbol.iterator]()", "''.matchAll(/x/g)",
        "[].values().map(function (item) { return item; })", "Iterator.from({ next: function () {} })",
        "(function* () {})()", "(async function* () {})()",
        "new Intl.Segmenter().segment('a')", "new Intl.Segmenter().segment('a')[Symbol.iterator]()",
        "(function () { 'use strict'; return arguments; })()",
    ].map(made);
    reached.push(searchFunctions);
    reached.push.apply(reached, syntaxes.concat(hidden));
    reachMembers(root);
    reachMembers(scope);
    seal();

    function never() {
        return false;
    }

    function isOfCall(name) {
        return call !== null && call.globals !== null && name in call.globals;
    }

    // Variables that a script does not declare belong to the call.
    const handler = {
        has: function (target, name) {
            return isOfCall(name) || name in target || name in Object.prototype;
        },
        get: function (target, name) {
            if (isOfCall(name)) return call.globals[name];
            return name in target ? target[name] : Object.prototype[name];
        },
        set: function (target, name, value) {
            if (replaceGlobal && hasOwn(target, name)) return false;
            current().globals = call.globals || dictionary();
            call.globals[name] = value;
            return true;
        },
        deleteProperty: function (target, name) {
            if (isOfCall(name)) delete call.globals[name];
            return !hasOwn(target, name);
        },
    };
    if (replaceGlobal) {
        const global = new Proxy(root, handler);
        define(root, "globalThis", global);
        // Most of what changes an object changes the proxy itself in Duktape, which has properties and a prototype of its own.
        Object.freeze(global);
        replaceGlobal(global);
    } else {
        assign(handler, {
            getPrototypeOf: function () {
                return null;
            },
            setPrototypeOf: never,
            preventExtensions: never,
            defineProperty: never,
            getOwnPropertyDescriptor: function () {
                return undefined;
            },
            ownKeys: function () {
                return [];
            },
        });
        // The global object itself keeps its prototype for good; it was made with one of its own, which does not.
        Object.setPrototypeOf(scope, new Proxy(dictionary(), handler));
        Object.freeze(scope);
    }
    Object.freeze(root);
    if (!Object.isFrozen(root)) throw new Error("The global object cannot be frozen.");

    return answer;
})
