// SPDX-License-Identifier: Apache-2.0

#ifdef __linux__
#define _GNU_SOURCE
#endif

#include "CDNSSD.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// MARK: The library

// The interface as far as it is used. It is the same in all libraries that have it.
typedef void *reference;
typedef void register_reply(reference, uint32_t flags, int32_t error, const char *name, const char *type, const char *domain, void *context);
typedef void browse_reply(
    reference, uint32_t flags, uint32_t interface, int32_t error, const char *name, const char *type, const char *domain, void *context);
typedef void resolve_reply(
    reference, uint32_t flags, uint32_t interface, int32_t error, const char *full_name, const char *host, uint16_t port, uint16_t count,
    const unsigned char *text, void *context);
typedef void query_reply(
    reference, uint32_t flags, uint32_t interface, int32_t error, const char *full_name, uint16_t kind, uint16_t class, uint16_t count,
    const void *data, uint32_t lifetime, void *context);

static struct {
    int (*descriptor)(reference);
    int32_t (*process)(reference);
    void (*deallocate)(reference);
    int32_t (*register_)(
        reference *, uint32_t flags, uint32_t interface, const char *name, const char *type, const char *domain, const char *host,
        uint16_t port, uint16_t count, const void *text, register_reply *, void *context);
    int32_t (*update)(reference, void *record, uint32_t flags, uint16_t count, const void *data, uint32_t lifetime);
    int32_t (*browse)(reference *, uint32_t flags, uint32_t interface, const char *type, const char *domain, browse_reply *, void *context);
    int32_t (*resolve)(
        reference *, uint32_t flags, uint32_t interface, const char *name, const char *type, const char *domain, resolve_reply *,
        void *context);
    int32_t (*query)(
        reference *, uint32_t flags, uint32_t interface, const char *full_name, uint16_t kind, uint16_t class, query_reply *,
        void *context);
    int is_there;
} library;

enum { IS_ADDED = 2, CLASS_INTERNET = 1 };
static const char *const DOMAIN = "local.";

// Avahi's way to say where its memory comes from (avahi-common/malloc.h).
struct allocator {
    void *(*allocate)(size_t);
    void (*free)(void *);
    void *(*reallocate)(void *, size_t);
    void *(*allocate_zeroed)(size_t, size_t);
};

static void *allocate_zeroed(size_t count) { return calloc(1, count); }

// The library of Avahi 0.8 does not set all members of an operation. When the daemon ends, it looks at them, and calls what it finds where
// memory was not zero: the program crashes. So its memory is zeroed; what was allocated before is freed as before.
static void let_memory_be_zeroed(void *handle) {
    static const struct allocator allocator = {allocate_zeroed, free, realloc, calloc};
    void (*set)(const struct allocator *);
    *(void **)&set = dlsym(handle, "avahi_set_allocator");
    if (set) set(&allocator);
}

static void load(void) {
#ifdef __APPLE__
    void *handle = dlopen("/usr/lib/libSystem.B.dylib", RTLD_NOW | RTLD_LOCAL);
#else
    void *handle = dlopen("libdns_sd.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
    struct {
        void **place;
        const char *name;
    } symbols[] = {
        {(void **)&library.descriptor, "DNSServiceRefSockFD"},   {(void **)&library.process, "DNSServiceProcessResult"},
        {(void **)&library.deallocate, "DNSServiceRefDeallocate"}, {(void **)&library.register_, "DNSServiceRegister"},
        {(void **)&library.update, "DNSServiceUpdateRecord"},    {(void **)&library.browse, "DNSServiceBrowse"},
        {(void **)&library.resolve, "DNSServiceResolve"},        {(void **)&library.query, "DNSServiceQueryRecord"},
    };
    if (!handle) return;
    for (size_t index = 0; index < sizeof symbols / sizeof symbols[0]; index++) {
        *symbols[index].place = dlsym(handle, symbols[index].name);
        if (!*symbols[index].place) return;
    }
    let_memory_be_zeroed(handle);
    library.is_there = 1;
}

static int has_library(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return library.is_there;
}

// MARK: Operations

struct item {
    struct item *next;
    struct divan_dnssd_event event;
    uint8_t bytes[];
};

struct operation {
    struct operation *next;
    reference reference;
    int descriptor;
    struct item *first, *last;
    int count;
};

// More than this is not kept of what the service says at once.
enum { MOST_ITEMS = 4096 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct operation *operations;

static struct operation *find(int descriptor) {
    pthread_mutex_lock(&guard);
    struct operation *found = operations;
    while (found && found->descriptor != descriptor) found = found->next;
    pthread_mutex_unlock(&guard);
    return found;
}

static void discard(struct operation *operation) {
    struct item *item = operation->first;
    while (item) {
        struct item *next = item->next;
        free(item);
        item = next;
    }
    if (operation->reference) library.deallocate(operation->reference);
    free(operation);
}

// Gives an operation that has begun its place among the others.
static int enter(struct operation *operation, int32_t error) {
    if (error == 0) operation->descriptor = library.descriptor(operation->reference);
    if (error != 0 || operation->descriptor < 0) {
        if (error != 0) operation->reference = NULL;
        discard(operation);
        return error < 0 ? error : DIVAN_DNSSD_BROKEN;
    }
    pthread_mutex_lock(&guard);
    operation->next = operations;
    operations = operation;
    pthread_mutex_unlock(&guard);
    return operation->descriptor;
}

static struct operation *make(int *error) {
    struct operation *operation = has_library() ? calloc(1, sizeof *operation) : NULL;
    *error = library.is_there ? DIVAN_DNSSD_BROKEN : DIVAN_DNSSD_MISSING;
    return operation;
}

// Keeps what the service has said; what is too long for a name is not kept.
static void keep(struct operation *operation, struct divan_dnssd_event event, const char *name, const void *bytes) {
    size_t length = name ? strlen(name) : 0;
    if (length >= sizeof event.name || operation->count >= MOST_ITEMS) return;
    struct item *item = malloc(sizeof *item + event.count);
    if (!item) return;
    item->next = NULL;
    item->event = event;
    memset(item->event.name, 0, sizeof event.name);
    if (length) memcpy(item->event.name, name, length);
    if (event.count) memcpy(item->bytes, bytes, event.count);
    if (operation->last) operation->last->next = item;
    else operation->first = item;
    operation->last = item;
    operation->count++;
}

static int is_local(const char *domain) { return domain && (strcmp(domain, DOMAIN) == 0 || strcmp(domain, "local") == 0); }

static void registered(
    reference reference, uint32_t flags, int32_t error, const char *name, const char *type, const char *domain, void *context) {
    (void)reference, (void)flags, (void)type, (void)domain;
    keep(context, (struct divan_dnssd_event){.error = error, .is_there = 1}, name, NULL);
}

static void browsed(
    reference reference, uint32_t flags, uint32_t interface, int32_t error, const char *name, const char *type, const char *domain,
    void *context) {
    (void)reference, (void)type;
    if (error == 0 && !is_local(domain)) return;
    struct divan_dnssd_event event = {.error = error, .is_there = (flags & IS_ADDED) != 0, .interface = interface};
    keep(context, event, name, NULL);
}

static void resolved(
    reference reference, uint32_t flags, uint32_t interface, int32_t error, const char *full_name, const char *host, uint16_t port,
    uint16_t count, const unsigned char *text, void *context) {
    (void)reference, (void)flags, (void)full_name;
    struct divan_dnssd_event event = {
        .error = error, .is_there = 1, .interface = interface, .port = ntohs(port), .count = text ? count : 0};
    keep(context, event, host, text);
}

static void answered(
    reference reference, uint32_t flags, uint32_t interface, int32_t error, const char *full_name, uint16_t kind, uint16_t class,
    uint16_t count, const void *data, uint32_t lifetime, void *context) {
    (void)reference, (void)full_name, (void)kind, (void)class, (void)lifetime;
    struct divan_dnssd_event event = {
        .error = error, .is_there = (flags & IS_ADDED) != 0, .interface = interface, .count = data ? count : 0};
    keep(context, event, NULL, data);
}

int divan_dnssd_register(const char *name, const char *type, uint16_t port, const uint8_t *text, size_t count) {
    int error;
    struct operation *made = make(&error);
    if (!made) return error;
    return enter(
        made, library.register_(
                  &made->reference, 0, 0, name, type, DOMAIN, NULL, htons(port), (uint16_t)count, text, registered, made));
}

int divan_dnssd_set_text(int descriptor, const uint8_t *text, size_t count) {
    struct operation *operation = find(descriptor);
    return operation ? library.update(operation->reference, NULL, 0, (uint16_t)count, text, 0) : DIVAN_DNSSD_BROKEN;
}

int divan_dnssd_browse(const char *type) {
    int error;
    struct operation *made = make(&error);
    if (!made) return error;
    return enter(made, library.browse(&made->reference, 0, 0, type, DOMAIN, browsed, made));
}

int divan_dnssd_resolve(const char *name, const char *type) {
    int error;
    struct operation *made = make(&error);
    if (!made) return error;
    return enter(made, library.resolve(&made->reference, 0, 0, name, type, DOMAIN, resolved, made));
}

int divan_dnssd_query(const char *host, uint16_t kind) {
    int error;
    struct operation *made = make(&error);
    if (!made) return error;
    return enter(made, library.query(&made->reference, 0, 0, host, kind, CLASS_INTERNET, answered, made));
}

int divan_dnssd_process(int descriptor) {
    struct operation *operation = find(descriptor);
    return operation ? library.process(operation->reference) : DIVAN_DNSSD_BROKEN;
}

int divan_dnssd_next(int descriptor, struct divan_dnssd_event *event, uint8_t *bytes, size_t capacity) {
    struct operation *operation = find(descriptor);
    struct item *item = operation ? operation->first : NULL;
    if (!item) return 0;
    *event = item->event;
    memcpy(bytes, item->bytes, item->event.count < capacity ? item->event.count : capacity);
    operation->first = item->next;
    if (!operation->first) operation->last = NULL;
    operation->count--;
    free(item);
    return 1;
}

void divan_dnssd_close(int descriptor) {
    pthread_mutex_lock(&guard);
    struct operation **place = &operations;
    while (*place && (*place)->descriptor != descriptor) place = &(*place)->next;
    struct operation *operation = *place;
    if (operation) *place = operation->next;
    pthread_mutex_unlock(&guard);
    if (operation) discard(operation);
}
