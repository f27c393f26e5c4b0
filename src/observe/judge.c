/*
 * judge.c - what a call will come to.
 *
 * Should:  copy the kernel's own order for each call: what it refuses before anybody asks for a right is no
 *          refusal of ours. Mustn't: look at anything twice; what was opened is what is judged.
 */
#include "observe/judge.h"

#include "kernel/object.h"
#include "links/observe_calls.h"
#include "observe/base.h"
#include "observe/hold.h"
#include "observe/memory.h"
#include "observe/outside.h"
#include "observe/paths.h"
#include "observe/record.h"
#include "observe/start.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define FOLLOW_NOT  0x100 /* AT_SYMLINK_NOFOLLOW */
#define LINK_FOLLOW 0x400 /* AT_SYMLINK_FOLLOW, of linkat */
#define EMPTY_PATH  0x1000
#define CWD_NUMBER  (-100)
#define RENAME_KEEP 1 /* RENAME_NOREPLACE */
#define UP_MOST     64

struct named {
    struct target target;
    int directory; /* as the call has it, and the name */
    char text[OBSERVE_PATH];
};

static struct named first, second;

/* What the call that is looked at could be held as; and whether it is. */
static struct holding holding;
static bool is_held;

static const struct observe_call *find_call(const struct notify_request *request)
{
    for (size_t i = 0; i < OBSERVE_CALLS; i++)
        if (observe_calls[i].nr == request->call.nr)
            return &observe_calls[i];
    return NULL;
}

static bool is_valid(const struct judge *judge, const struct notify_request *request)
{
    uint64_t id = request->id;

    return kernel_call(SYS_ioctl, judge->listener, NOTIFY_IOCTL_VALID, KERNEL_PTR(&id), 0, 0, 0) == 0;
}

/* Somebody may be asked about files and directories that nothing grants, and about nothing else. */
static bool may_hold(const struct judge *judge, const struct refusal *refusal)
{
    enum surface surface = refusal->verdict.surface;

    if (judge->holds_connects && refusal->is_address && surface == SURFACE_NET_LISTED &&
        refusal->operation == DENIAL_CONNECT) {
        holding = (struct holding){.kind = OBSERVE_HELD_CONNECT, .object = -1};
        return true;
    }
    if (!judge->holds || holding.kind == OBSERVE_HELD_NOTHING || refusal->by_mode || refusal->is_address ||
        refusal->verdict.rule != DENIAL_BY_DEFAULT ||
        (surface != SURFACE_FS_WRITE && surface != SURFACE_FS_TRUNCATE))
        return false;
    if (holding.kind == OBSERVE_HELD_OPEN && first.target.object < 0)
        holding.kind = OBSERVE_HELD_CREATE;
    holding.object = holding.kind == OBSERVE_HELD_OPEN ? first.target.object : first.target.parent;
    return true;
}

void judge_refuse(const struct judge *judge, const struct notify_request *request,
                  enum denial_operation operation, const struct verdict *verdict, const char *name,
                  bool is_address, bool by_mode)
{
    struct refusal refusal = {.verdict = *verdict,
                              .operation = operation,
                              .name = name,
                              .is_address = is_address,
                              .by_mode = by_mode,
                              .pid = (pid_t)request->pid,
                              .request = judge->tells_calls ? request : NULL};

    /* Whoever was interrupted calls again, and is announced again. */
    if (verdict->answer != ANSWER_REFUSED || !is_valid(judge, request))
        return;
    is_held =
        may_hold(judge, &refusal) && hold_call(judge->listener, judge->wire, request, &refusal, &holding);
    if (is_held) /* the supervisor records it, with the answer */
        return;
    if (holding.kind == OBSERVE_HELD_CONNECT) /* which may be one that is allowed */
        record_unreadable();
    else
        record_refusal(judge->wire, &refusal);
}

/* By its name alone: most are, and nothing else needs to be known of them. */
static bool is_changeable(const struct judge *judge, const struct target *target)
{
    const struct rules *rules = &judge->rules;

    return rules_writable(rules, target->path) && !rules_protected(rules, target->path, true);
}

/* The same of the directory that the name is in. */
static bool is_renamable(const struct judge *judge, const struct target *target)
{
    const struct rules *rules = &judge->rules;

    return rules_renamable(rules, target->path) && !rules_protected(rules, target->path, true);
}

/* The last component of what was asked for. Return: false for `.` and `..`, which nothing is made or removed
 * by. */
static bool has_last(const char *name)
{
    size_t length = strlen(name);
    const char *at;

    while (length > 0 && name[length - 1] == '/')
        length--;
    at = name + length;
    while (at > name && at[-1] != '/')
        at--;
    length -= (size_t)(at - name);
    return length > 0 && !(at[0] == '.' && (length == 1 || (length == 2 && at[1] == '.')));
}

/* A path of the call, as the command wrote it. Return: can it be read? */
static bool take_text(const struct judge *judge, const struct notify_request *request,
                      const struct observe_call *call, struct named *named)
{
    int directory = named == &first ? call->directory : call->directory_2;
    int argument = named == &first ? call->path : call->path_2;
    ssize_t length =
        memory_text((pid_t)request->pid, request->call.args[argument], named->text, sizeof(named->text));

    named->directory = directory < 0 ? CWD_NUMBER : (int)(uint32_t)request->call.args[directory];
    if (length >= 0)
        return true;
    if (length != -EFAULT && length != -ENAMETOOLONG && is_valid(judge, request))
        record_unreadable(); /* of those two the kernel will say the same */
    return false;
}

/* Nothing but a change is asked for: whoever may make one under this name is refused nothing. */
static bool changes_only(const struct notify_request *request, const struct observe_call *call)
{
    if (call->act == OBSERVE_OPEN && call->extra >= 0)
        return (request->call.args[call->extra] & O_ACCMODE) != O_RDONLY;
    return call->act != OBSERVE_EXECUTE;
}

/* Is it known without a look that the name may be changed? */
static bool is_free(const struct judge *judge, const struct notify_request *request, bool follow,
                    struct named *named)
{
    return target_guess(&named->target, (pid_t)request->pid, named->directory, named->text, follow) &&
           is_renamable(judge, &named->target);
}

static bool is_resolved(const struct judge *judge, const struct notify_request *request,
                        const struct target *target)
{
    if (target->unreadable && is_valid(judge, request))
        record_unreadable();
    return !target->unreadable && !target->outside && target->errnum == 0;
}

/* A path of the call, resolved. Return: must it be judged? */
static bool take_name(const struct judge *judge, const struct notify_request *request,
                      const struct observe_call *call, bool follow, struct named *named)
{
    pid_t pid = (pid_t)request->pid;

    if (!take_text(judge, request, call, named))
        return false;
    if (changes_only(request, call) && is_free(judge, request, follow, named))
        return false;
    target_resolve(&named->target, pid, named->directory, named->text, follow);
    return is_resolved(judge, request, &named->target);
}

/* Two paths of the call. Return: must they be judged? */
static bool take_names(const struct judge *judge, const struct notify_request *request,
                       const struct observe_call *call, bool follow)
{
    pid_t pid = (pid_t)request->pid;

    if (!take_text(judge, request, call, &first) || !take_text(judge, request, call, &second) ||
        (is_free(judge, request, follow, &first) && is_free(judge, request, false, &second)))
        return false;
    target_resolve(&first.target, pid, first.directory, first.text, follow);
    if (!is_resolved(judge, request, &first.target) || first.target.object < 0 || !has_last(first.text))
        return false;
    target_resolve(&second.target, pid, second.directory, second.text, false);
    return is_resolved(judge, request, &second.target) && has_last(second.text);
}

static bool take_descriptor(const struct judge *judge, const struct notify_request *request, int fd,
                            struct named *named)
{
    target_descriptor(&named->target, (pid_t)request->pid, fd);
    return is_resolved(judge, request, &named->target);
}

static bool is_granted(const struct resolved *resolved, const struct stat *st, bool writing)
{
    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *path = &resolved->paths[i];
        bool grants = path->grant == GRANT_WRITE || path->grant == GRANT_DEVICE ||
                      (!writing && (path->grant == GRANT_READ || path->grant == GRANT_SHOW));

        if (grants && path->device == st->st_dev && path->inode == st->st_ino)
            return true;
    }
    return false;
}

/* Is the directory FD, or one above it, granted? Landlock follows objects, whatever they are called. */
static bool is_below_granted(const struct resolved *resolved, int fd, bool writing)
{
    struct stat st, below = {0};
    bool found = false;
    int at = fd;

    for (int up = 0; up < UP_MOST && at >= 0 && fstat(at, &st) == 0 && !found; up++) {
        int above;

        if (up > 0 && stat_same(&st, &below))
            break;
        found = is_granted(resolved, &st, writing);
        above = found ? -1 : open_only(at, "..", 0);
        if (at != fd && at >= 0)
            close(at);
        at = above;
        below = st;
    }
    if (at >= 0 && at != fd)
        close(at);
    return found;
}

/* The directory that TARGET is in: its name is canonical, so no link leads astray. -1: not known. */
static int find_parent(struct target *target, pid_t pid)
{
    static char location[OBSERVE_PATH + 40];
    char *slash;

    if (target->parent >= 0 || target->path[0] != '/' || target->path[1] == '\0')
        return target->parent;
    number_join(location, "/proc/", (unsigned)pid, "/root");
    memcpy(location + strlen(location), target->path, strlen(target->path) + 1);
    slash = strrchr(location, '/');
    slash[1] = '\0';
    target->parent = open_only(AT_FDCWD, location, O_DIRECTORY);
    return target->parent;
}

/* Looks at what stands in the way of @operation. @deciding: whose mount and mode count: the object, or the
 * directory that it is in; @as_name: it is the directory that is changed */
static struct object look_at(const struct judge *judge, const struct notify_request *request,
                             struct target *target, enum denial_operation operation, int deciding,
                             bool as_name)
{
    const struct rules *rules = &judge->rules;
    struct object object = {.path = target->path,
                            .as_name = as_name,
                            .exists = target->object >= 0,
                            .type = target->object >= 0 ? target->st.st_mode & S_IFMT : 0};
    bool changes_directory = target->parent >= 0 && deciding == target->parent;

    if (!rules->view)
        object.granted = (object.exists && !as_name && is_granted(rules->resolved, &target->st, true)) ||
                         is_below_granted(rules->resolved, find_parent(target, (pid_t)request->pid), true);
    object.read_only = rules->view && object_read_only(deciding);
    object.read_only_outside = object.read_only && outside_read_only(target->path);
    if (operation == DENIAL_METADATA)
        object.by_mode = judge->uid != 0 && target->st.st_uid != judge->uid;
    else
        object.by_mode = !object_permits(deciding, changes_directory ? W_OK | X_OK : W_OK);
    return object;
}

static void judge_object(const struct judge *judge, const struct notify_request *request,
                         struct target *target, enum denial_operation operation, bool mode_first)
{
    struct object object;
    struct verdict verdict;

    if (is_changeable(judge, target))
        return;
    object = look_at(judge, request, target, operation, target->object, false);
    object.mode_first = mode_first;
    verdict = evaluate_change(&judge->rules, operation, &object);
    judge_refuse(judge, request, operation, &verdict, target->path, false, object.by_mode);
}

static void judge_in_directory(const struct judge *judge, const struct notify_request *request,
                               struct target *target, enum denial_operation operation, bool arrives)
{
    /* A file that is there shows its mount as well as its directory would. */
    int deciding;
    struct object object;
    struct verdict verdict;

    if (is_renamable(judge, target))
        return;
    deciding = find_parent(target, (pid_t)request->pid);
    if (deciding < 0)
        deciding = target->object;
    if (deciding < 0)
        return;
    object = look_at(judge, request, target, operation, deciding, true);
    object.arrives = arrives;
    verdict = evaluate_change(&judge->rules, operation, &object);
    judge_refuse(judge, request, operation, &verdict, target->path, false, object.by_mode);
}

/* --- the calls -------------------------------------------------------------------------------------------
 */

/* The way leads through a hidden directory, whose cover lets nobody through, or whose name is left out, and
 * what would be there is not known; or to a name that is hidden as such. */
static void judge_way(const struct judge *judge, const struct notify_request *request,
                      const struct target *target, enum denial_operation operation)
{
    bool missing = target->errnum == 0 && target->object < 0;
    bool way = target->errnum == EACCES || target->errnum == ENOENT;
    size_t hidden = judge->rules.view && (missing || way) ? rules_hidden(&judge->rules, target->path) : 0;
    struct verdict verdict = {ANSWER_REFUSED, SURFACE_FS_HIDDEN, DENIAL_BY_HIDE, hidden - 1};

    if (hidden && !outside_refuses(target->path, missing ? R_OK : X_OK))
        judge_refuse(judge, request, operation, &verdict, target->path, false, false);
}

/* Return: may it be read? */
static bool judge_reading(const struct judge *judge, const struct notify_request *request,
                          struct target *target, enum denial_operation operation)
{
    struct object object = {.path = target->path, .exists = true, .type = target->st.st_mode & S_IFMT};
    struct verdict verdict = evaluate_read(&judge->rules, &object);
    int mode = operation == DENIAL_EXECUTE ? X_OK : R_OK;

    if (verdict.answer == ANSWER_ALLOWED)
        return true;
    object.granted =
        verdict.rule == DENIAL_BY_DEFAULT &&
        (is_granted(judge->rules.resolved, &target->st, false) ||
         is_below_granted(judge->rules.resolved, find_parent(target, (pid_t)request->pid), false));
    object.by_mode = judge->rules.view && verdict.rule == DENIAL_BY_HIDE
                         ? outside_refuses(target->path, mode)
                         : !object_permits(target->object, mode);
    verdict = evaluate_read(&judge->rules, &object);
    judge_refuse(judge, request, operation, &verdict, target->path, false, object.by_mode);
    return verdict.answer == ANSWER_ALLOWED;
}

/* With which mode something is made: it stands behind the flags, or behind the name where there are none. */
static uint32_t mode_of(const struct notify_request *request, const struct observe_call *call)
{
    return (uint32_t)request->call.args[(call->extra >= 0 ? call->extra : call->path) + 1];
}

static void judge_open(const struct judge *judge, const struct notify_request *request,
                       const struct observe_call *call)
{
    uint32_t flags =
        call->extra < 0 ? O_CREAT | O_WRONLY | O_TRUNC : (uint32_t)request->call.args[call->extra];
    bool exclusive = (flags & O_CREAT) && (flags & O_EXCL);
    bool writes = (flags & O_ACCMODE) != O_RDONLY, truncates = flags & O_TRUNC;
    struct target *target = &first.target;

    if (flags & O_PATH)
        return;
    if (!take_name(judge, request, call, !(flags & O_NOFOLLOW) && !exclusive, &first)) {
        if (target->errnum)
            judge_way(judge, request, target, writes ? DENIAL_WRITE : DENIAL_READ);
        return;
    }
    /* What has no name yet could not be given one afterwards; and what the kernel refuses by itself (a slash
     * at the end, a directory, no access at all) is nothing to be asked about. */
    if (!(flags & (OPEN_TMPFILE_BIT | O_DIRECTORY | O_ASYNC)) && (flags & O_ACCMODE) != O_ACCMODE &&
        has_last(first.text) && first.text[strlen(first.text) - 1] != '/')
        holding = (struct holding){.kind = OBSERVE_HELD_OPEN, .flags = flags, .mode = mode_of(request, call)};
    if (target->object < 0) {
        if (flags & O_CREAT)
            judge_in_directory(judge, request, target, DENIAL_CREATE, false);
        else
            judge_way(judge, request, target, writes ? DENIAL_WRITE : DENIAL_READ);
        return;
    }
    if (exclusive || target->is_link || S_ISSOCK(target->st.st_mode))
        return;
    if (S_ISDIR(target->st.st_mode)) {
        if (flags & OPEN_TMPFILE_BIT && writes)
            judge_object(judge, request, target, DENIAL_CREATE, false);
        else if (!writes && !(flags & O_CREAT))
            judge_reading(judge, request, target, DENIAL_READ);
        return;
    }
    truncates = truncates && S_ISREG(target->st.st_mode);
    if (writes || truncates)
        judge_object(judge, request, target, writes ? DENIAL_WRITE : DENIAL_TRUNCATE,
                     !(truncates && judge->rules.view));
    else
        judge_reading(judge, request, target, DENIAL_READ);
}

static void judge_remove(const struct judge *judge, const struct notify_request *request,
                         const struct observe_call *call)
{
    struct target *target = &first.target;

    if (!take_name(judge, request, call, false, &first) || !has_last(first.text))
        return;
    judge_in_directory(judge, request, target, DENIAL_REMOVE, false);
}

/* Two names in one call: the kernel says nothing of rights where they are on two file systems. */
static bool is_across(const struct target *one, const struct target *other)
{
    struct stat here, there;
    int from = one->parent >= 0 ? one->parent : one->object;
    int to = other->parent >= 0 ? other->parent : other->object;

    return fstat(from, &here) == 0 && fstat(to, &there) == 0 && here.st_dev != there.st_dev;
}

static void judge_two(const struct judge *judge, const struct notify_request *request,
                      const struct observe_call *call)
{
    bool links = call->act == OBSERVE_LINK;
    bool follow = links && call->extra >= 0 && (request->call.args[call->extra] & LINK_FOLLOW);
    enum denial_operation operation = links ? DENIAL_LINK : DENIAL_RENAME;

    if (!take_names(judge, request, call, follow) || (links && second.target.object >= 0))
        return;
    /* Without mounts in between the name is looked at before any right. */
    if (!links && !judge->rules.view && second.target.object >= 0 && call->extra >= 0 &&
        (request->call.args[call->extra] & RENAME_KEEP))
        return;
    if (is_across(&first.target, &second.target) &&
        !(is_renamable(judge, &first.target) != is_renamable(judge, &second.target)))
        return;
    if (!is_renamable(judge, &first.target))
        judge_in_directory(judge, request, &first.target, operation, false);
    else
        judge_in_directory(judge, request, &second.target, operation, true);
}

static void judge_change(const struct judge *judge, const struct notify_request *request,
                         const struct observe_call *call)
{
    uint64_t flags = call->extra >= 0 ? request->call.args[call->extra] : 0;
    bool follow = call->extra != -2 && !(flags & FOLLOW_NOT);
    bool got;

    got = take_name(judge, request, call, follow, &first);
    if (!got && (flags & EMPTY_PATH) && first.text[0] == '\0')
        got = take_descriptor(judge, request, (int)(uint32_t)request->call.args[call->directory], &first);
    if (got && first.target.object >= 0)
        judge_object(judge, request, &first.target, DENIAL_METADATA, false);
}

/* An exec of the last link's, by a name that is known without looking into it. Return: is it one? */
static bool judge_start(const struct judge *judge, const struct notify_request *request,
                        const struct observe_call *call)
{
    struct target *target = &first.target;
    ssize_t length =
        memory_text((pid_t)request->pid, request->call.args[call->path], first.text, sizeof(first.text));

    if (length >= 0 || length == -EFAULT || length == -ENAMETOOLONG || !is_valid(judge, request)) {
        start_over();
        return false;
    }
    if (!start_next(first.text, sizeof(first.text)))
        return false;
    /* By our own view: its root cannot be opened either, and the names are the same. */
    target_resolve(target, judge->self, CWD_NUMBER, first.text, true);
    if (target->object >= 0 && !target->outside && judge_reading(judge, request, target, DENIAL_EXECUTE) &&
        S_ISREG(target->st.st_mode) && object_permits(target->object, X_OK))
        start_over();
    return true;
}

static void judge_rest(const struct judge *judge, const struct notify_request *request,
                       const struct observe_call *call)
{
    struct target *target = &first.target;
    bool follow = call->act == OBSERVE_TRUNCATE || call->act == OBSERVE_EXECUTE;

    if (call->act == OBSERVE_EXECUTE && judge_start(judge, request, call))
        return;
    if (!take_name(judge, request, call, follow, &first))
        return;
    if (call->act == OBSERVE_EXECUTE && target->object >= 0)
        judge_reading(judge, request, target, DENIAL_EXECUTE);
    else if (call->act == OBSERVE_TRUNCATE && target->object >= 0 && S_ISREG(target->st.st_mode))
        judge_object(judge, request, target, DENIAL_TRUNCATE, true);
    if (call->act == OBSERVE_DIRECTORY) /* the last component is the one of the canonical name */
        holding = (struct holding){.kind = OBSERVE_HELD_DIRECTORY, .mode = mode_of(request, call)};
    if ((call->act == OBSERVE_MAKE || call->act == OBSERVE_DIRECTORY) && target->object < 0)
        judge_in_directory(judge, request, target, DENIAL_CREATE, false);
}

void judge_make(const struct judge *judge, const struct notify_request *request, const char *name)
{
    struct target *target = &first.target;

    target_resolve(target, (pid_t)request->pid, CWD_NUMBER, name, false);
    if (!target->unreadable && !target->outside && target->errnum == 0 && target->object < 0)
        judge_in_directory(judge, request, target, DENIAL_CREATE, false);
}

bool judge_call(const struct judge *judge, const struct notify_request *request)
{
    const struct observe_call *call = find_call(request);

    first.target.errnum = 0;
    first.target.object = first.target.parent = second.target.object = second.target.parent = -1;
    first.text[0] = '\0';
    holding.kind = OBSERVE_HELD_NOTHING;
    is_held = false;
    base_forget();
    if (!call)
        return false;
    if (call->act != OBSERVE_EXECUTE)
        start_over();
    switch (call->act) {
    case OBSERVE_OPEN:
        judge_open(judge, request, call);
        break;
    case OBSERVE_REMOVE:
        judge_remove(judge, request, call);
        break;
    case OBSERVE_LINK:
    case OBSERVE_RENAME:
        judge_two(judge, request, call);
        break;
    case OBSERVE_CHANGE:
        judge_change(judge, request, call);
        break;
    case OBSERVE_CONNECT:
        judge_network(judge, request, DENIAL_CONNECT);
        break;
    case OBSERVE_BIND:
        judge_network(judge, request, DENIAL_BIND);
        break;
    case OBSERVE_SEND:
        judge_network(judge, request, DENIAL_SEND);
        break;
    default:
        judge_rest(judge, request, call);
    }
    target_close(&first.target);
    target_close(&second.target);
    return is_held;
}
