/*
 * resolve.c - questions that wait, and answers that are fresh. See resolve.h.
 */
#include "network/resolve.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

static struct lookup_name *find_name(struct node *list, const char *name)
{
    for (struct node *at = list->after; at != list; at = at->after)
        if (strcmp(((struct lookup_name *)at)->question.name, name) == 0)
            return (struct lookup_name *)at;
    return NULL;
}

static void tell(struct lookup_name *name)
{
    struct node told;

    /* Who is told may ask again, which then stands in the new list. */
    list_begin(&told);
    while (!list_empty(&name->queries)) {
        struct node *first = name->queries.after;

        node_remove(first);
        node_add(&told, first);
    }
    while (!list_empty(&told)) {
        struct query *query = (struct query *)told.after;

        node_remove(&query->node);
        query->call(query, &name->answer);
    }
}

static void drop(struct resolve *resolve, struct lookup_name *name)
{
    node_remove(&name->node);
    resolve->kept_count--;
    free(name);
}

/* NAME has its answer: it is kept, and what is older than it may go. */
static void keep(struct resolve *resolve, struct lookup_name *name)
{
    node_remove(&name->node);
    node_add(&resolve->kept, &name->node);
    resolve->kept_count++;
    name->until = resolve->loop->now + (name->answer.error == RESOLVE_FOUND ? RESOLVE_FRESH : 0);
    tell(name);
    while (resolve->kept_count > 0) {
        struct lookup_name *oldest = (struct lookup_name *)resolve->kept.after;

        if (oldest->until > resolve->loop->now && resolve->kept_count <= RESOLVE_KEPT)
            break;
        drop(resolve, oldest);
    }
}

static void fail(struct resolve *resolve, struct lookup_name *name)
{
    name->answer = (struct resolve_answer){.error = RESOLVE_FAILED};
    keep(resolve, name);
}

static void ask_next(struct resolve *resolve);

static void give_up(struct timer *timer)
{
    struct lookup_name *name = (struct lookup_name *)((char *)timer - offsetof(struct lookup_name, timer));
    struct resolve *resolve = name->resolve;

    resolve->asked_count--;
    fail(resolve, name);
    ask_next(resolve);
}

/* Hand to the resolver what waits, as far as it has hands. */
static void ask_next(struct resolve *resolve)
{
    while (!list_empty(&resolve->waiting) && (resolve->gone || resolve->asked_count < RESOLVE_AT_ONCE)) {
        struct lookup_name *name = (struct lookup_name *)resolve->waiting.after;

        name->question.id = ++resolve->last_id;
        if (resolve->gone || send(resolve->watch.fd, &name->question, sizeof(name->question),
                                  MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof(name->question)) {
            fail(resolve, name);
            continue;
        }
        node_remove(&name->node);
        node_add(&resolve->asked, &name->node);
        resolve->asked_count++;
        timer_begin(resolve->loop, &name->timer, TIMER_DIAL, give_up);
    }
}

static void hear(struct resolve *resolve, const struct resolve_answer *answer)
{
    for (struct node *at = resolve->asked.after; at != &resolve->asked; at = at->after) {
        struct lookup_name *name = (struct lookup_name *)at;

        if (name->question.id != answer->id)
            continue;
        timer_end(&name->timer);
        name->answer = *answer;
        if (answer->error == RESOLVE_FOUND && answer->count > RESOLVE_ADDRESSES)
            name->answer.error = RESOLVE_FAILED;
        resolve->asked_count--;
        keep(resolve, name);
        return;
    }
}

static void hear_all(struct watch *watch)
{
    struct resolve *resolve = (struct resolve *)watch;
    struct resolve_answer answer;
    ssize_t got;

    while ((got = recv(watch->fd, &answer, sizeof(answer), MSG_DONTWAIT)) > 0)
        if (got == (ssize_t)sizeof(answer))
            hear(resolve, &answer);
    resolve->gone = got == 0 || (errno != EAGAIN && errno != EINTR);
    while (resolve->gone && !list_empty(&resolve->asked)) {
        struct lookup_name *name = (struct lookup_name *)resolve->asked.after;

        timer_end(&name->timer);
        resolve->asked_count--;
        fail(resolve, name);
    }
    ask_next(resolve);
}

int resolve_begin(struct resolve *resolve, struct loop *loop, int fd)
{
    *resolve = (struct resolve){.loop = loop};
    list_begin(&resolve->waiting);
    list_begin(&resolve->asked);
    list_begin(&resolve->kept);
    return watch_begin(loop, &resolve->watch, fd, hear_all);
}

int resolve_ask(struct resolve *resolve, struct query *query, const char *name)
{
    struct lookup_name *lookup = find_name(&resolve->kept, name);

    if (lookup && lookup->until > resolve->loop->now) {
        query->call(query, &lookup->answer);
        return 0;
    }
    if (lookup)
        drop(resolve, lookup);
    lookup = find_name(&resolve->asked, name);
    if (!lookup)
        lookup = find_name(&resolve->waiting, name);
    if (!lookup) {
        lookup = calloc(1, sizeof(*lookup));
        if (!lookup)
            return -ENOMEM;
        lookup->resolve = resolve;
        list_begin(&lookup->queries);
        snprintf(lookup->question.name, sizeof(lookup->question.name), "%s", name);
        node_add(&resolve->waiting, &lookup->node);
    }
    node_add(&lookup->queries, &query->node);
    ask_next(resolve);
    return 0;
}

void resolve_forget(struct query *query)
{
    node_remove(&query->node);
}
