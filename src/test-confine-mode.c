/*
 * test-confine-mode.c - which mode is in force, for every combination of the three that can be named.
 */
#include "harness.h"

#include "confine.h"

#define N NULL
#define R "read-only"
#define W "workspace-write"
#define D "danger-full-access"

static const struct {
    const char *approved, *session, *deployment; /* what is named */
    const char *mode, *from;                     /* what is in force; NULL: the approval is refused */
} rows[] = {
    {N, N, N, R, "default"},  {N, N, R, R, "default"},  {N, N, W, W, "default"},  {N, N, D, D, "default"},
    {N, R, N, R, "session"},  {N, R, R, R, "session"},  {N, R, W, R, "session"},  {N, R, D, R, "session"},
    {N, W, N, W, "session"},  {N, W, R, W, "session"},  {N, W, W, W, "session"},  {N, W, D, W, "session"},
    {N, D, N, D, "session"},  {N, D, R, D, "session"},  {N, D, W, D, "session"},  {N, D, D, D, "session"},
    {R, N, N, N, N},          {R, N, R, N, N},          {R, N, W, N, N},          {R, N, D, N, N},
    {R, R, N, N, N},          {R, R, R, N, N},          {R, R, W, N, N},          {R, R, D, N, N},
    {R, W, N, N, N},          {R, W, R, N, N},          {R, W, W, N, N},          {R, W, D, N, N},
    {R, D, N, N, N},          {R, D, R, N, N},          {R, D, W, N, N},          {R, D, D, N, N},
    {W, N, N, W, "approved"}, {W, N, R, W, "approved"}, {W, N, W, N, N},          {W, N, D, N, N},
    {W, R, N, W, "approved"}, {W, R, R, W, "approved"}, {W, R, W, W, "approved"}, {W, R, D, W, "approved"},
    {W, W, N, N, N},          {W, W, R, N, N},          {W, W, W, N, N},          {W, W, D, N, N},
    {W, D, N, N, N},          {W, D, R, N, N},          {W, D, W, N, N},          {W, D, D, N, N},
    {D, N, N, D, "approved"}, {D, N, R, D, "approved"}, {D, N, W, D, "approved"}, {D, N, D, N, N},
    {D, R, N, D, "approved"}, {D, R, R, D, "approved"}, {D, R, W, D, "approved"}, {D, R, D, D, "approved"},
    {D, W, N, D, "approved"}, {D, W, R, D, "approved"}, {D, W, W, D, "approved"}, {D, W, D, D, "approved"},
    {D, D, N, N, N},          {D, D, R, N, N},          {D, D, W, N, N},          {D, D, D, N, N},
};

static bool same(const char *one, const char *other)
{
    return one == other || (one && other && strcmp(one, other) == 0);
}

TEST(approved_over_session_over_default)
{
    check_int((int)(sizeof(rows) / sizeof(rows[0])), 4 * 4 * 4);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *mode = "left", *from = "left";
        int r = confine_effective_mode(rows[i].approved, rows[i].session, rows[i].deployment, &mode, &from);

        if (!check_int(r, rows[i].mode ? CONFINE_OK : CONFINE_E_REFUSED) ||
            !check(same(mode, rows[i].mode)) || !check(same(from, rows[i].from)))
            test_note("row %zu: %s by %s", i, mode ? mode : "none", from ? from : "none");
    }
}

TEST(wrong_names_are_wrong_wherever_they_stand)
{
    const char *mode, *from;

    check_int(confine_effective_mode("full", N, N, &mode, &from), CONFINE_E_ARGUMENT);
    check(mode == NULL && from == NULL);
    check_int(confine_effective_mode(N, "", N, &mode, &from), CONFINE_E_ARGUMENT);
    check_int(confine_effective_mode(N, R, "Read-Only", &mode, &from), CONFINE_E_ARGUMENT);
    check_int(confine_effective_mode(D, "workspace-write ", R, &mode, &from), CONFINE_E_ARGUMENT);
    check_int(confine_effective_mode(N, N, N, NULL, &from), CONFINE_E_ARGUMENT);
    check_int(confine_effective_mode(N, N, N, &mode, NULL), CONFINE_E_ARGUMENT);
}
