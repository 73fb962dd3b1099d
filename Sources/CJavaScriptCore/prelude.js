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
// It is one expression, a function of `exchange(text, isLast)`, which writes lines. Without `isLast` it returns the next line
// that is read; when that is true, it ends the process; when it is false, it only writes.
(function (exchange) {
    "use strict";

    const { parse, stringify } = JSON;
    const { now } = Date;
    const sourceOf = Function.prototype.call.bind(Function.prototype.toString);
    const Compiled = Function;
    const root = globalThis;
    const scope = Object.getPrototypeOf(root);

    // MARK: The call

    let call = null;

    // The call in progress. Callbacks that a script leaves behind run after it, and find none.
    function current() {
        if (call === null) throw new Error("The function has returned.");
        return call;
    }

    function begin() {
        call = {
            globals: null, logs: [], rows: [], hasEmitted: false, modules: null,
            chunks: [], head: {}, hasHead: false, isList: false, hasRows: false, isAtEnd: false,
            offers: [], types: null, names: null, contentType: null, service: null,
        };
    }

    // MARK: What scripts call

    function text(value) {
        return typeof value === "string" ? value : String(stringify(value));
    }

    const scriptFunctions = {
        emit(key, value) {
            current().rows.push([key, value]);
            call.hasEmitted = true;
        },
        sum(values) {
            let total = 0;
            for (const index in values) total += values[index];
            return total;
        },
        log(message) {
            current().logs.push(wellFormed(stringify(["log", text(message)])));
        },
        toJSON: (value) => stringify(value),
        isArray: (value) => Array.isArray(value),
        provides(name, producer) {
            current().offers.push([name, producer]);
        },
        registerType(name, ...types) {
            current();
            call.types ??= new Map(knownTypes);
            call.names ??= new Map(knownNames);
            register(call.types, call.names, name, types);
        },
        start(head) {
            current().head = head || {};
            call.hasHead = true;
        },
        send(chunk) {
            current().chunks.push(String(chunk));
        },
        getRow,
    };

    // MARK: Search indexes

    function checkType(what, value, type) {
        if (typeof value !== type) throw new TypeError(`${what} must be a ${type} not ${typeof value}`);
    }

    function checkName(name) {
        checkType("name", name, "string");
        if (name.startsWith("_")) throw { name: "ReservedName", message: "name must not start with an underscore" };
    }

    // index("name", value, options), of `_search`
    function searchField(name, value, options) {
        checkName(name);
        if (!["string", "number", "boolean"].includes(typeof value)) {
            throw new TypeError(`value must be a string, a number or boolean not ${typeof value}`);
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
        } else if (["text", "string", "double"].includes(type)) {
            checkType("value", value, type === "double" ? "number" : "string");
        } else {
            throw new TypeError(`${type} not supported`);
        }
        return { "@type": type, name, value, store: options?.store };
    }

    // What functions of search indexes call. To all others `index` is a name like any other, which they may give a variable.
    const searchFunctions = {
        search: (...args) => void current().rows.push(searchField(...args)),
        nouveau: (...args) => void current().rows.push(nouveauField(...args)),
    };

    // What a function finds beside what all do.
    function ownGlobals() {
        return call.service === null ? null : new Map([["index", searchFunctions[call.service]]]);
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
        } catch {
            return "an exception that cannot be shown";
        }
    }

    // The answer to a command that threw: ["error", name, reason]. CouchDB ends the process after ["fatal", …].
    function failure(error) {
        let parts;
        let isFatal = false;
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
        } catch {
            parts = undefined;
        }
        const line = stringify(["error", ...(parts ?? ["unnamed_error", description(error)])]);
        if (isFatal) exchange(wellFormed([...waiting, ...(call?.logs ?? []), line].join("\n")), true);
        return line;
    }

    // MARK: Functions and modules

    // Functions and modules by their texts.
    const compiled = new Map();
    const compiledModules = new Map();
    const MOST_COMPILED = 256;

    // Keeps what was compiled. A script can reach it by `arguments.callee`, so it is frozen.
    function keep(made, source, all) {
        Object.freeze(made);
        Object.freeze(made.prototype);
        if (all.size >= MOST_COMPILED) all.clear();
        all.set(source, made);
        return made;
    }

    function compile(parameters, source) {
        try {
            return Compiled(parameters, `return (\n${source}\n)`);
        } catch (error) {
            // A semicolon after the function, or a second function.
            try {
                return Compiled(parameters, `return ${source.trimStart()}`);
            } catch {
                throw error;
            }
        }
    }

    // The text as an error quotes it.
    function shown(source) {
        return source.length > 1000 ? `${source.slice(0, 1000)}…` : source;
    }

    // Makes the function of a text anew, with `require` of a tree of modules.
    function functionOf(source, tree, name) {
        if (typeof source !== "string" || source === "") refuse("not_found", "missing function");
        let make = compiled.get(source);
        let result;
        try {
            if (make === undefined) {
                make = keep(compile("require", source), source, compiled);
            }
            result = make(tree === null ? undefined : (path) => moduleAt(path, [], tree));
        } catch (error) {
            if (Array.isArray(error) && error[0] === "error") throw error;
            refuse("compilation_error", `${description(error)} (${shown(source)})`);
        }
        if (typeof result !== "function") {
            refuse("compilation_error", `Expression does not eval to a function. (${shown(source)})`);
        }
        return result;
    }

    // The exports of a module: `path` is seen from the module in `place`, an array of names.
    function moduleAt(path, place, tree) {
        const names = String(path).split("/");
        const isRelative = names[0] === "." || names[0] === "..";
        const full = isRelative ? place.slice(0, -1) : [];
        if (isRelative && place.length === 0) refuse("invalid_require_path", `Object has no parent: ${path}`);
        for (const name of names) {
            if (name === ".") continue;
            if (name !== "..") full.push(name);
            else if (full.length === 0) refuse("invalid_require_path", `Object has no parent: ${path}`);
            else full.pop();
        }
        let source = tree;
        for (const name of full) {
            if (typeof source !== "object" || source === null || !Object.hasOwn(source, name)) {
                refuse("invalid_require_path", `Object has no property "${name}": ${path}`);
            }
            source = source[name];
        }
        if (typeof source !== "string") {
            refuse("invalid_require_path", `Must require a JavaScript string, not: ${typeof source}`);
        }
        return exportsOf(source, full, tree, path);
    }

    function exportsOf(source, place, tree, path) {
        const id = place.join("/");
        current().modules ??= new Map();
        const known = call.modules.get(id);
        if (known) return known.exports;
        const module = { id, exports: {} };
        // Before it is evaluated, so that modules may require each other.
        call.modules.set(id, module);
        try {
            const make = compiledModules.get(source)
                ?? keep(Compiled("module", "exports", "require", source), source, compiledModules);
            make.call(module.exports, module, module.exports, (name) => moduleAt(name, place, tree));
        } catch (error) {
            if (Array.isArray(error) && error[0] === "error") throw error;
            refuse("compilation_error", `Module require('${path}') raised error ${description(error)}`);
        }
        return module.exports;
    }

    // MARK: Views

    const views = { sources: [], tree: null, config: {} };

    // A view's function that throws emits nothing, and the log says so; unless it threw what ends the command.
    function endViewError(error, id) {
        if (error === "fatal_error") refuse("map_runtime_error", "function raised 'fatal_error'");
        let isFatal = false;
        try {
            isFatal = Array.isArray(error) && error[0] === "fatal";
        } catch {}
        if (isFatal) throw error;
        const document = id === undefined ? "" : ` with doc._id ${description(id)}`;
        scriptFunctions.log(`function raised exception ${description(error)}${document}`);
    }

    // Runs the map functions. `copy` makes the document once more.
    function mapDocument(document, copy) {
        const id = document?._id;
        const answers = [];
        const { sources } = views;
        // An iterator would take longer than a short function.
        for (let index = 0; index < sources.length; index++) {
            call.rows = [];
            call.globals = ownGlobals();
            call.modules = null;
            try {
                // Each function has a document of its own, since the one before may have changed it.
                functionOf(sources[index], views.tree)(index === 0 ? document : copy());
                answers.push(stringify(call.rows));
            } catch (error) {
                endViewError(error, id);
                answers.push("[]");
            }
        }
        return `[${answers.join(",")}]`;
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
        let since = now();
        for (let index = 1; index < texts.length; index++) {
            if (Math.abs(now() - since) > LONGEST_WAIT) {
                exchange(wellFormed(waiting.splice(0).join("\n")), false);
                since = now();
            }
            const copy = () => parse(texts[index]);
            waiting.push(
                answerOf(() => {
                    call.service = service;
                    return mapDocument(copy(), copy);
                }),
            );
        }
        return waiting.splice(0).join("\n");
    }

    // MARK: What map functions read

    const MOST_NAMES = 32;

    // The properties that the map functions read of a document, as far as their texts show; null when they may read any. The
    // parent then sends no others, which is most of what a short function costs.
    function propertiesRead() {
        const names = new Set();
        for (const source of views.sources) {
            const found = namesIn(sourceOf(functionOf(source, views.tree)), source);
            if (found === null) return null;
            for (const name of found) names.add(name);
        }
        return names.size > MOST_NAMES ? null : [...names];
    }

    // The names behind the parameter of a function: all places where the parameter stands must be `document.name` or
    // `document["name"]`. In doubt null: the function then gets whole documents.
    function namesIn(text, source) {
        // The source is this function and nothing else, so each call evaluates to it.
        const whole = source.trim().replace(/;$/, "");
        if (whole !== text && whole !== `(${text})`) return null;
        const head = /^(?:function\s*(?:[A-Za-z_$][\w$]*\s*)?\(\s*([A-Za-z_$][\w$]*)\s*\)|\(\s*([A-Za-z_$][\w$]*)\s*\)\s*=>|([A-Za-z_$][\w$]*)\s*=>)/.exec(text);
        if (head === null || /\\u|\barguments\b|<!--|-->/.test(text)) return null;
        const parameter = (head[1] ?? head[2] ?? head[3]).replace(/\$/g, "\\$");
        const use = new RegExp(
            `(?:^|[^\\w$])${parameter}(?![\\w$])`
                + "(?:\\s*\\??\\.\\s*([A-Za-z_$][\\w$]*)(?![\\w$\\u0080-\\uffff])|\\s*\\[\\s*([\"'])([^\"'\\\\]*)\\2\\s*\\])?", "g");
        const names = [];
        for (const [, member, , item] of withoutComments(text.slice(head[0].length), use).matchAll(use)) {
            const name = member ?? item;
            // What an object has without having it itself may give the object away, as `valueOf` does.
            if (name === undefined || name in Object.prototype) return null;
            names.push(name);
        }
        return names;
    }

    // A function's text without its comments, and with another text in place of each that has the parameter in it. It is left
    // as it is where a slash may begin a regular expression, or where a template is: so names are found that are none.
    function withoutComments(text, use) {
        let isPlain = true;
        const plain = text.replace(/\/\*[^]*?\*\/|\/\/.*|"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'|[`/]/g, (part) => {
            if (part.length === 1) isPlain = false;
            if (part.startsWith("/")) return " ";
            return part.search(use) < 0 ? part : '"\\"';
        });
        return isPlain ? plain : text;
    }

    // MARK: Reductions

    function reduce(sources, keys, values, isRereduce, inputLength) {
        const answers = sources.map((source, index) => {
            const isLast = index + 1 === sources.length;
            call.globals = null;
            try {
                const copies = isLast ? [keys, values] : parse(stringify([keys, values]));
                return stringify(functionOf(source, null)(copies[0], copies[1], isRereduce)) ?? "null";
            } catch (error) {
                if (Array.isArray(error) && error[1] === "compilation_error") throw error;
                endViewError(error);
                return "null";
            }
        });
        const output = `[${answers.join(",")}]`;
        const limit = views.config?.reduce_limit;
        const codeLength = sources.reduce((total, source) => total + String(source).length, 0);
        if (limit && output.length > 4096 && output.length * 2 > inputLength - codeLength) {
            const reason = "Reduce output must shrink more rapidly: "
                + `input size: ${inputLength - codeLength} output size: ${output.length}`;
            if (limit !== "log") refuse("reduce_overflow_error", reason);
            scriptFunctions.log(`reduce_overflow_error: ${reason}`);
        }
        return `[true,${output}]`;
    }

    // MARK: Types of content

    const knownTypes = new Map();
    const knownNames = new Map();

    function register(types, names, name, list) {
        types.set(name, list);
        for (const type of list) names.set(type, name);
    }

    for (const [name, ...types] of [
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
    ]) register(knownTypes, knownNames, name, types);

    // The parts of "text/html;level=1;q=0.5".
    function mediaRange(value) {
        const [full, ...rest] = value.split(";").map((part) => part.trim());
        const [type, subtype = "*"] = (full === "*" ? "*/*" : full).split("/");
        const parameters = new Map(rest.map((part) => part.split("=").map((word) => word.trim())));
        const quality = Number.parseFloat(parameters.get("q") ?? "1");
        return { type, subtype, parameters, quality: quality >= 0 && quality <= 1 ? quality : 1 };
    }

    // How well a range of an Accept header fits a type: more parts that are equal fit better; -1 when it does not.
    function fitness(type, range) {
        const isFitting = (mine, theirs) => mine === theirs || mine === "*" || theirs === "*";
        if (!isFitting(type.type, range.type) || !isFitting(type.subtype, range.subtype)) return -1;
        let score = (type.type === range.type ? 100 : 0) + (type.subtype === range.subtype ? 10 : 0);
        for (const [name, value] of type.parameters) if (name !== "q" && range.parameters.get(name) === value) score++;
        return score;
    }

    // The type that an Accept header likes best; the first of equals.
    function bestType(types, accept) {
        const ranges = accept.split(",").map(mediaRange);
        let best = { score: -1, quality: 0, type: null };
        for (const type of types) {
            const parsed = mediaRange(type);
            for (const range of ranges) {
                const score = fitness(parsed, range);
                if (score > best.score || score === best.score && score >= 0 && range.quality > best.quality) {
                    best = { score, quality: range.quality, type };
                }
            }
        }
        return best.quality > 0 ? best.type : null;
    }

    // Runs the function that was given for the type that the client asks for.
    function produce(request, designDocument) {
        const types = call.types ?? knownTypes;
        const names = call.names ?? knownNames;
        const accept = request?.headers?.Accept;
        const offered = call.offers.map(([name]) => types.get(name) ?? []);
        let name = null;
        if (request?.query?.format) {
            name = request.query.format;
            call.contentType = types.get(name)?.[0] ?? null;
        } else if (accept) {
            call.contentType = bestType(offered.flat(), String(accept));
            name = names.get(call.contentType) ?? null;
        } else {
            name = call.offers[0][0];
            call.contentType = offered[0][0] ?? null;
        }
        const offer = call.offers.find(([offeredName]) => offeredName === name);
        if (offer) return offer[1].call(designDocument);
        const list = call.offers.map(([offeredName], index) => offered[index].join(", ") || offeredName).join(", ");
        return refuse("not_acceptable", `Content-Type ${accept || name} not supported, try one of: ${list}`);
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
        const lines = [...call.logs, line].join("\n");
        call.logs = [];
        call.chunks = [];
        call.hasHead = false;
        return exchange(lines);
    }

    // Only a list may read: what stands behind any other command is the next one.
    function getRow() {
        if (!current().isList) throw new Error("getRow is for lists alone.");
        if (call.isAtEnd) return null;
        let line;
        if (!call.hasRows) {
            call.hasRows = true;
            line = exchangeRow("start", withContentType(call.head));
        } else {
            line = exchangeRow("chunks", call.hasHead ? call.head : undefined);
        }
        let row = [];
        try {
            row = parse(line);
        } catch {}
        if (row?.[0] === "list_end") {
            call.isAtEnd = true;
            return null;
        }
        // At once: a script could catch an error, and go on with what is another command's.
        if (row?.[0] !== "list_row") exchange(stringify(["error", "list_error", "not a row"]), true);
        return row[1];
    }

    // An error of a function that renders; those that have CouchDB's form are what they are.
    function endRenderError(error) {
        let hasForm = false;
        try {
            hasForm = Array.isArray(error) && (error[0] === "error" || error[0] === "fatal")
                || isResponse(error) && Boolean(error.error && error.reason);
        } catch {}
        if (hasForm) throw error;
        let stack = "";
        try {
            if (error instanceof Error) stack = ` \nstacktrace: ${error.stack}`;
        } catch {}
        const message = `function raised error: ${description(error)}${stack}`;
        scriptFunctions.log(message);
        refuse("render_error", message);
    }

    function runShow(script, designDocument, args) {
        try {
            let response = wrapped(script.apply(designDocument, args) || {});
            if (call.chunks.length > 0) {
                response.headers = response.headers || {};
                // CouchDB's shows start with header fields themselves, its lists with an object that has them.
                Object.assign(response.headers, call.head.headers ?? call.head);
                response.body = call.chunks.join("") + (response.body || "");
                call.chunks = [];
            }
            if (call.offers.length > 0) {
                const provided = wrapped(produce(args[1], designDocument) || {});
                const body = (response.body || "") + call.chunks.join("") + (provided.body || "");
                response = withContentType({ ...response, ...provided, body });
            }
            if (!isResponse(response)) refuse("render_error", "undefined response from show function");
            return stringify(["resp", response]);
        } catch (error) {
            if (args[0] === null && args[1]?.path?.length > 5) refuse("not_found", "document not found");
            return endRenderError(error);
        }
    }

    function runUpdate(script, designDocument, args) {
        try {
            if (args[1]?.method === "GET") refuse("method_not_allowed", "Update functions do not allow GET");
            const [document, answered] = script.apply(designDocument, args);
            const response = wrapped(answered);
            if (!isResponse(response)) refuse("render_error", "undefined response from update function");
            return stringify(["up", document, response]);
        } catch (error) {
            return endRenderError(error);
        }
    }

    function runList(script, designDocument, args) {
        call.isList = true;
        try {
            let tail = script.apply(designDocument, args);
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
        const answers = documents.map((document) => {
            call.hasEmitted = false;
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
            if (line?.startsWith("{") || line?.startsWith('"')) return line;
            return refuse("unnamed_error", description(error));
        }
    }

    function runRewrite(script, designDocument, args) {
        try {
            const result = script.apply(designDocument, args);
            if (!result) return stringify(["no_dispatch_rule"]);
            return stringify(["ok", typeof result === "string" ? { path: result, method: args[0]?.method } : result]);
        } catch (error) {
            return endRenderError(error);
        }
    }

    const kinds = {
        shows: (make, document, args) => runShow(make(), document, args),
        lists: (make, document, args) => runList(make(), document, args),
        updates: (make, document, args) => runUpdate(make(), document, args),
        validate_doc_update: (make, document, args) => runValidation(make(), document, args),
        rewrites: (make, document, args) => runRewrite(make(), document, args),
        filters(make, document, args) {
            // Each document has a request of its own, since the filter of the one before may have changed it.
            const request = stringify(args[1] ?? null);
            return filterEach(make, args[0], (script, one) => script.call(document, one, parse(request)));
        },
        views: (make, document, args) =>
            filterEach(make, args[0], (script, one) => {
                script.call(undefined, one);
                return call.hasEmitted;
            }),
    };

    // MARK: Commands

    let designDocument = null;

    function frozen(value) {
        if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
            Object.freeze(value);
            for (const name of Object.keys(value)) frozen(value[name]);
        }
        return value;
    }

    function runDesignFunction(id, path, args) {
        if (designDocument === null) throw ["fatal", "query_protocol_error", `uncached design doc: ${id}`];
        if (!Object.hasOwn(kinds, path[0])) {
            throw ["fatal", "unknown_command", `unknown ddoc command '${description(path[0])}'`];
        }
        let source = designDocument;
        for (const name of path) {
            if (typeof source !== "object" || source === null || !Object.hasOwn(source, name)) {
                refuse("not_found", `missing ${path[0]} function ${path.at(-1)} on design doc ${id}`);
            }
            source = source[name];
        }
        return kinds[path[0]](() => functionOf(source, designDocument), designDocument, args);
    }

    // Half a character, as a script makes when it cuts a text inside one, stands in no text that others read.
    function wellFormed(line) {
        if (!line.includes("\\ud")) return line;
        return line.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (found) => (found === "\\\\" ? found : "\\ufffd"));
    }

    // Each gets the whole command, an array that begins with its name, and its line.
    const commands = {
        reset(command) {
            compiled.clear();
            compiledModules.clear();
            Object.assign(views, { sources: [], tree: null, config: command[1] ?? {} });
            return "true";
        },
        add_lib(command) {
            views.tree = frozen({ views: { lib: command[1] } });
            return "true";
        },
        add_fun(command) {
            functionOf(command[1], views.tree);
            views.sources.push(command[1]);
            return "true";
        },
        properties: () => stringify(propertiesRead()),
        map_doc: (command, line) => mapDocument(command[1], () => parse(line)[1]),
        index_doc(command, line) {
            call.service = "search";
            return mapDocument(command[1], () => parse(line)[1]);
        },
        nouveau_index_doc(command, line) {
            call.service = "nouveau";
            return mapDocument(command[1], () => parse(line)[1]);
        },
        reduce([, sources, rows], line) {
            return reduce(sources, rows.map((row) => row[0]), rows.map((row) => row[1]), false, line.length);
        },
        rereduce: ([, sources, values], line) => reduce(sources, null, values, true, line.length),
        ddoc([, id, ...rest]) {
            if (id !== "new") return runDesignFunction(id, rest[0], rest[1]);
            compiled.clear();
            compiledModules.clear();
            designDocument = frozen(rest[1]);
            return "true";
        },
    };

    // What services the functions are for that a line maps many documents by.
    const services = new Map([
        ['["map_docs"]', null], ['["index_docs"]', "search"], ['["nouveau_index_docs"]', "nouveau"],
    ]);

    // Makes a call, and gives its answer behind its log lines.
    function answerOf(run) {
        begin();
        let result;
        try {
            result = run();
        } catch (error) {
            result = failure(error);
        }
        const { logs } = call;
        call = null;
        return logs.length === 0 ? result : `${logs.join("\n")}\n${result}`;
    }

    function answer(line) {
        const end = line.indexOf("\t");
        const service = end < 0 ? undefined : services.get(line.slice(0, end));
        if (service !== undefined) return wellFormed(mapDocuments(service, line));
        return wellFormed(
            answerOf(() => {
                const command = parse(line);
                const name = command[0];
                if (!Object.hasOwn(commands, name)) throw ["fatal", "unknown_command", `unknown command '${description(name)}'`];
                return commands[name](command, line);
            }),
        );
    }

    // MARK: Sealing

    for (const [name, value] of Object.entries(scriptFunctions)) {
        Object.defineProperty(root, name, { value, configurable: true });
    }
    for (const name of ["Atomics", "FinalizationRegistry", "SharedArrayBuffer", "WeakRef", "WebAssembly", "console"]) {
        delete root[name];
    }
    // RegExp.$1, RegExp.input, …: what the last match found, in whichever script.
    for (const name of Object.getOwnPropertyNames(RegExp)) {
        if (!["prototype", "length", "name", "escape"].includes(name)) delete RegExp[name];
    }
    const syntaxes = [function () {}, function* () {}, async function () {}, async function* () {}];
    for (const one of syntaxes) {
        const prototype = Object.getPrototypeOf(one);
        const refuses = function () {
            throw new EvalError("Scripts of design documents cannot compile scripts.");
        };
        refuses.prototype = prototype;
        Object.defineProperty(prototype, "constructor", { value: refuses, configurable: true });
        if (prototype === Function.prototype) Object.defineProperty(root, "Function", { value: refuses, configurable: true });
    }
    Object.defineProperty(root, "eval", {
        value() {
            throw new EvalError("Scripts of design documents cannot compile scripts.");
        },
        configurable: true,
    });

    // Once a prototype is frozen, an assignment to a property of that name on an object that inherits from it would fail, too.
    // As an accessor it makes the object's own property, as scripts expect.
    const OVERRIDDEN = ["constructor", "toString", "toLocaleString", "valueOf", "toJSON", "name", "message"];

    function letOverride(prototype, name) {
        const known = Object.getOwnPropertyDescriptor(prototype, name);
        if (!known?.configurable || !("value" in known)) return;
        // Behind the accessor nothing else would find it.
        seal(known.value);
        Object.defineProperty(prototype, name, {
            get: () => known.value,
            set(value) {
                if (this === prototype) throw new TypeError(`${name} is read-only.`);
                Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
            },
            enumerable: false,
            configurable: false,
        });
    }

    const seen = new Set();

    function seal(value) {
        if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
        seen.add(value);
        const names = Reflect.ownKeys(value);
        // Objects with a constructor are prototypes.
        if (Object.hasOwn(value, "constructor")) {
            for (const name of value === Object.prototype ? names : OVERRIDDEN) letOverride(value, name);
        }
        if (value !== root && value !== scope) Object.freeze(value);
        seal(Object.getPrototypeOf(value));
        for (const name of names) {
            const property = Object.getOwnPropertyDescriptor(value, name);
            seal(property.value);
            seal(property.get);
            seal(property.set);
        }
    }

    const hidden = [
        [].values(), new Map().entries(), new Set().values(), ""[Symbol.iterator](), "".matchAll(/x/g),
        [].values().map?.((item) => item), root.Iterator?.from?.({ next() {} }), (function* () {})(), (async function* () {})(),
        new Intl.Segmenter().segment("a"), new Intl.Segmenter().segment("a")[Symbol.iterator](),
    ];
    for (const one of [root, searchFunctions, ...syntaxes, ...hidden]) seal(one);

    // Variables that a script does not declare belong to the call.
    const undeclared = new Proxy(Object.create(null), {
        has: (target, name) => (call?.globals?.has(name) ?? false) || name in Object.prototype,
        get: (target, name) => (call?.globals?.has(name) ? call.globals.get(name) : Object.prototype[name]),
        set(target, name, value) {
            current().globals ??= new Map();
            call.globals.set(name, value);
            return true;
        },
        deleteProperty: (target, name) => call?.globals?.delete(name) ?? true,
        getPrototypeOf: () => null,
        setPrototypeOf: () => false,
        preventExtensions: () => false,
        defineProperty: () => false,
        getOwnPropertyDescriptor: () => undefined,
        ownKeys: () => [],
    });
    // The global object itself keeps its prototype for good; it was made with one of its own, which does not.
    Object.setPrototypeOf(scope, undeclared);
    Object.freeze(scope);
    Object.freeze(root);
    if (!Object.isFrozen(root)) throw new Error("The global object cannot be frozen.");

    return answer;
})
