/* fence_names.c - directories and names that a fence makes, removes and changes. */
#include "fence_calls.h"

static const struct named {
    const char *name;
    const char *act, *path, *to;
    int result, errnum;
    const char *reason, *there, *gone; /* afterwards, below `work` */
} named[] = {
    {"a directory", "mkdir", "new", NULL, CONFINE_OK, 0, NULL, "new", NULL},
    {"a directory with a slash", "mkdir", "sub/new//", NULL, CONFINE_OK, 0, NULL, "sub/new", NULL},
    {"a directory that is there", "mkdir", "sub", NULL, CONFINE_E_SYSTEM, EEXIST, NULL, "sub", NULL},
    {"a directory on a link to nothing", "mkdir", "nothing", NULL, CONFINE_E_SYSTEM, EEXIST, NULL, NULL,
     NULL},
    {"a directory outside", "mkdir", "../new", NULL, CONFINE_E_REFUSED, 0, "not-granted", NULL, "../new"},
    {"a directory by a link", "mkdir", "to-out/new", NULL, CONFINE_E_REFUSED, 0, "hidden", NULL,
     "../out/new"},
    {"a directory in what is protected", "mkdir", "kept/new", NULL, CONFINE_E_REFUSED, 0, "protected", NULL,
     "kept/new"},
    {"no name", "mkdir", "sub/..", NULL, CONFINE_E_SYSTEM, EINVAL, NULL, "sub", NULL},
    {"a file goes", "remove", "file", NULL, CONFINE_OK, 0, NULL, NULL, "file"},
    {"an empty directory goes", "remove", "sub/", NULL, CONFINE_OK, 0, NULL, NULL, "sub"},
    {"a FIFO goes", "remove", "fifo", NULL, CONFINE_OK, 0, NULL, NULL, "fifo"},
    {"a link goes, and not what it leads to", "remove", "to-key", NULL, CONFINE_OK, 0, NULL, "../out/key",
     "to-key"},
    {"a full directory", "remove", "full", NULL, CONFINE_E_SYSTEM, ENOTEMPTY, NULL, "full", NULL},
    {"a file with a slash", "remove", "file/", NULL, CONFINE_E_SYSTEM, ENOTDIR, NULL, "file", NULL},
    {"nothing goes", "remove", "none", NULL, CONFINE_E_SYSTEM, ENOENT, NULL, NULL, NULL},
    {"a file outside", "remove", "../file", NULL, CONFINE_E_REFUSED, 0, "not-granted", "../file", NULL},
    {"a hidden file", "remove", "to-out/key", NULL, CONFINE_E_REFUSED, 0, "hidden", "../out/key", NULL},
    {"a hidden nothing", "remove", "to-out/none", NULL, CONFINE_E_REFUSED, 0, "hidden", NULL, NULL},
    {"a protected file", "remove", "held", NULL, CONFINE_E_REFUSED, 0, "protected", "held", NULL},
    {"another name of it", "remove", "also-held", NULL, CONFINE_E_REFUSED, 0, "protected", "also-held", NULL},
    {"the workspace", "remove", "../ws", NULL, CONFINE_E_REFUSED, 0, "not-granted", "sub", NULL},
    {"another name", "rename", "file", "sub/file", CONFINE_OK, 0, NULL, "sub/file", "file"},
    {"over another file", "rename", "file", "other", CONFINE_OK, 0, NULL, "other", "file"},
    {"a link has another name", "rename", "to-key", "sub/to-key", CONFINE_OK, 0, NULL, "sub/to-key",
     "to-key"},
    {"out of here", "rename", "file", "../new", CONFINE_E_REFUSED, 0, "not-granted", "file", "../new"},
    {"over a file outside", "rename", "file", "../file", CONFINE_E_REFUSED, 0, "not-granted", "file", NULL},
    {"into here", "rename", "../file", "new", CONFINE_E_REFUSED, 0, "not-granted", "../file", "new"},
    {"what is hidden", "rename", "to-out/key", "new", CONFINE_E_REFUSED, 0, "hidden", "../out/key", "new"},
    {"what is protected", "rename", "held", "new", CONFINE_E_REFUSED, 0, "protected", "held", "new"},
    {"onto what is protected", "rename", "file", "held", CONFINE_E_REFUSED, 0, "protected", "file", NULL},
    {"onto another name of it", "rename", "file", "also-held", CONFINE_E_REFUSED, 0, "protected", "file",
     NULL},
    {"what has something protected in it", "rename", "box", "new", CONFINE_E_REFUSED, 0, "protected",
     "box/in", NULL},
    {"a file over a directory", "rename", "file", "sub", CONFINE_E_SYSTEM, EISDIR, NULL, "file", NULL},
    {"a directory without a path", "mkdir", NULL, NULL, CONFINE_E_ARGUMENT, 0, NULL, NULL, NULL},
    {"nothing goes without a path", "remove", NULL, NULL, CONFINE_E_ARGUMENT, 0, NULL, NULL, NULL},
    {"another name without the old one", "rename", NULL, "new", CONFINE_E_ARGUMENT, 0, NULL, NULL, "new"},
    {"another name without it", "rename", "file", NULL, CONFINE_E_ARGUMENT, 0, NULL, "file", NULL},
    {"a file to a name with a slash", "rename", "file", "new/", CONFINE_E_SYSTEM, ENOTDIR, NULL, "file",
     NULL},
};

static int change(struct confine_fence *fence, const struct named *row, char **json)
{
    return strcmp(row->act, "mkdir") == 0    ? confine_fence_mkdir(fence, row->path, 0755, json)
           : strcmp(row->act, "remove") == 0 ? confine_fence_remove(fence, row->path, json)
                                             : confine_fence_rename(fence, row->path, row->to, json);
}

TEST_EACH(names_are_made_and_removed_where_they_may, struct named, named)
{
    struct confine_fence *fence;
    char left[] = "of an earlier call", *json = left, expected[128];

    fill();
    put(work, "file", "file");
    put(work, "other", "other");
    need(mkdirat(work, "box", 0755) == 0 && mkdirat(work, "full", 0755) == 0 &&
         symlinkat("../new", work, "nothing") == 0);
    put(work, "box/in", "in");
    put(work, "full/in", "in");
    fence = fence_of((const char *const[]){"-w", "ws", "--hide=out", "-C", "ws", "--protect=ws/held",
                                           "--protect=ws/kept", "--protect=ws/box/in", "--backend=landlock",
                                           NULL});
    check_int(change(fence, row, &json), row->result);
    if (row->errnum)
        check_int(errno, row->errnum);
    need(json != left); /* whoever frees it after every call has one to free, or NULL */
    snprintf(expected, sizeof(expected), "\"reason\": \"%s\"", row->reason ? row->reason : "");
    if (row->reason)
        check_has(json, expected);
    else
        check(json == NULL);
    if (row->there)
        check(faccessat(work, row->there, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    if (row->gone)
        check_fails(faccessat(work, row->gone, F_OK, AT_SYMLINK_NOFOLLOW), ENOENT);
    confine_free(json);
    confine_fence_unref(fence);
}
