// SPDX-License-Identifier: Apache-2.0

#include "engine.h"

#include <dlfcn.h>
#include <stdlib.h>

// MARK: The library

// The interface as far as it is used (JSBase.h, JSValueRef.h, JSObjectRef.h, JSStringRef.h, JSContextRef.h).
typedef const struct opaque_group *group_ref;
typedef struct opaque_context *context_ref;
typedef const struct opaque_value *value_ref;
typedef struct opaque_value *object_ref;
typedef struct opaque_string *string_ref;
typedef struct opaque_class *class_ref;
typedef value_ref function_callback(
    context_ref, object_ref function, object_ref this, size_t count, const value_ref arguments[], value_ref *exception);

// JSClassDefinition: none of its members but the name is set.
struct class_definition {
    int version;
    unsigned attributes;
    const char *name;
    void *members[14];
};

static struct {
    group_ref (*make_group)(void);
    context_ref (*make_context)(group_ref, class_ref);
    void (*release_context)(context_ref);
    void (*collect)(context_ref);
    class_ref (*make_class)(const struct class_definition *);
    string_ref (*make_string)(const char *);
    void (*release_string)(string_ref);
    size_t (*most_bytes)(string_ref);
    size_t (*get_bytes)(string_ref, char *, size_t);
    value_ref (*evaluate)(context_ref, string_ref, object_ref, string_ref, int, value_ref *);
    value_ref (*string_value)(context_ref, string_ref);
    string_ref (*string_of)(context_ref, value_ref, value_ref *);
    _Bool (*boolean_of)(context_ref, value_ref);
    void (*protect)(context_ref, value_ref);
    object_ref (*make_function)(context_ref, string_ref, function_callback *);
    object_ref (*object_of)(context_ref, value_ref, value_ref *);
    value_ref (*call)(context_ref, object_ref, object_ref, size_t, const value_ref[], value_ref *);
    group_ref group;
    class_ref class;
} engine;

// One library by the names of its ABIs in Debian: with libsoup 3, 2, and GTK 4.
static void *open_library(void) {
#ifdef __APPLE__
    return dlopen("/System/Library/Frameworks/JavaScriptCore.framework/JavaScriptCore", RTLD_NOW | RTLD_LOCAL);
#else
    static const char *const names[] = {
        "libjavascriptcoregtk-4.1.so.0", "libjavascriptcoregtk-6.0.so.1", "libjavascriptcoregtk-4.0.so.18"};
    void *handle = NULL;
    for (size_t index = 0; !handle && index < sizeof names / sizeof names[0]; index++) handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    return handle;
#endif
}

// The limit of memory is that of the process, and a setting in its environment.
static int load(size_t memory) {
    (void)memory;
    void *handle = open_library();
    if (!handle) return DIVAN_JAVASCRIPT_MISSING;
    const struct divan_symbol symbols[] = {
        {(void **)&engine.make_group, "JSContextGroupCreate"},
        {(void **)&engine.make_context, "JSGlobalContextCreateInGroup"},
        {(void **)&engine.release_context, "JSGlobalContextRelease"},
        {(void **)&engine.collect, "JSGarbageCollect"},
        {(void **)&engine.make_class, "JSClassCreate"},
        {(void **)&engine.make_string, "JSStringCreateWithUTF8CString"},
        {(void **)&engine.release_string, "JSStringRelease"},
        {(void **)&engine.most_bytes, "JSStringGetMaximumUTF8CStringSize"},
        {(void **)&engine.get_bytes, "JSStringGetUTF8CString"},
        {(void **)&engine.evaluate, "JSEvaluateScript"},
        {(void **)&engine.string_value, "JSValueMakeString"},
        {(void **)&engine.string_of, "JSValueToStringCopy"},
        {(void **)&engine.boolean_of, "JSValueToBoolean"},
        {(void **)&engine.protect, "JSValueProtect"},
        {(void **)&engine.make_function, "JSObjectMakeFunctionWithCallback"},
        {(void **)&engine.object_of, "JSValueToObject"},
        {(void **)&engine.call, "JSObjectCallAsFunction"},
    };
    const int error = divan_find_symbols(handle, symbols, sizeof symbols / sizeof symbols[0]);
    if (error) return error;
    // A global object of a class has a prototype of its own, which the prelude needs.
    static const struct class_definition definition = {.name = "Global"};
    engine.group = engine.make_group();
    engine.class = engine.make_class(&definition);
    return engine.group && engine.class ? 0 : DIVAN_JAVASCRIPT_BROKEN;
}

// MARK: Contexts

struct divan_javascript {
    context_ref context;
    object_ref answer;
};

static value_ref value_of(context_ref context, const char *text) {
    string_ref string = engine.make_string(text);
    value_ref value = engine.string_value(context, string);
    engine.release_string(string);
    return value;
}

// The text of a value, allocated by malloc; NULL when the value has none, or memory is not enough.
static char *text_of(context_ref context, value_ref value, size_t *count) {
    value_ref exception = NULL;
    string_ref string = value ? engine.string_of(context, value, &exception) : NULL;
    if (!string) return NULL;
    size_t most = engine.most_bytes(string);
    char *text = malloc(most);
    size_t written = text ? engine.get_bytes(string, text, most) : 0;
    engine.release_string(string);
    // The zero at the end is counted.
    *count = written > 0 ? written - 1 : 0;
    return text;
}

static value_ref run_exchange(
    context_ref context, object_ref function, object_ref this, size_t count, const value_ref arguments[], value_ref *exception) {
    (void)function, (void)this;
    size_t length = 0;
    char *text = count > 0 ? text_of(context, arguments[0], &length) : NULL;
    if (!text) {
        *exception = value_of(context, "There is no memory for the line.");
        return NULL;
    }
    enum divan_javascript_next next = DIVAN_JAVASCRIPT_READS;
    if (count > 1) next = engine.boolean_of(context, arguments[1]) ? DIVAN_JAVASCRIPT_ENDS : DIVAN_JAVASCRIPT_GOES_ON;
    char *line = divan_exchange(text, length, next);
    free(text);
    if (!line) return NULL;
    value_ref value = value_of(context, line);
    free(line);
    return value;
}

static void release(struct divan_javascript *context) {
    engine.collect(context->context);
    engine.release_context(context->context);
    free(context);
}

static struct divan_javascript *make(void) {
    struct divan_javascript *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->context = engine.make_context(engine.group, engine.class);
    string_ref source = engine.make_string(divan_prelude);
    string_ref name = engine.make_string("prelude.js");
    value_ref exception = NULL;
    value_ref maker = engine.evaluate(made->context, source, NULL, name, 1, &exception);
    engine.release_string(source);
    engine.release_string(name);
    object_ref function = maker ? engine.object_of(made->context, maker, &exception) : NULL;
    value_ref argument = engine.make_function(made->context, NULL, run_exchange);
    value_ref answer = function ? engine.call(made->context, function, NULL, 1, &argument, &exception) : NULL;
    made->answer = answer ? engine.object_of(made->context, answer, &exception) : NULL;
    if (!made->answer) {
        release(made);
        return NULL;
    }
    engine.protect(made->context, made->answer);
    return made;
}

static char *answer_line(struct divan_javascript *context, const char *line, size_t *count) {
    value_ref exception = NULL;
    value_ref argument = value_of(context->context, line);
    value_ref answer = engine.call(context->context, context->answer, NULL, 1, &argument, &exception);
    return text_of(context->context, answer, count);
}

const struct divan_engine divan_javascriptcore = {load, make, release, answer_line};
