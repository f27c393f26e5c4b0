/*
 * test-learn.c - from refusals to the lines of a proposal.
 */
#include "harness.h"

#include "cli/learn.h"

static const struct take_row {
    const char *name;
    const char *grants[4]; /* of one refusal each, in this order */
    const char *words[4];  /* what a run gets */
} take_rows[] = {
    {"a name", {"{'network': {'mode': 'listed', 'allow': ['a.test']}}"}, {"--allow=a.test"}},
    {"whose addresses are private: one line",
     {"{'network': {'mode': 'listed', 'allow': ['a.test']}}",
      "{'network': {'mode': 'listed', 'allow': ['private:a.test']}}"},
     {"--allow=private:a.test"}},
    {"in whatever order",
     {"{'network': {'mode': 'listed', 'allow': ['private:a.test']}}",
      "{'network': {'mode': 'listed', 'allow': ['a.test']}}"},
     {"--allow=private:a.test"}},
    {"another port is another rule",
     {"{'network': {'mode': 'listed', 'allow': ['a.test:22']}}",
      "{'network': {'mode': 'listed', 'allow': ['private:a.test']}}"},
     {"--allow=a.test:22", "--allow=private:a.test"}},
    {"and another name another one",
     {"{'network': {'mode': 'listed', 'allow': ['b.test']}}",
      "{'network': {'mode': 'listed', 'allow': ['private:a.test']}}"},
     {"--allow=b.test", "--allow=private:a.test"}},
    {"three files are their directory",
     {"{'write': ['/srv/a/x']}", "{'write': ['/srv/a/y']}", "{'write': ['/srv/a/z']}"},
     {"--write=/srv/a"}},
    {"but not where that would hand over the account",
     {"{'write': ['/home/me/.config/x']}", "{'write': ['/home/me/.config/y']}",
      "{'write': ['/home/me/.config/z']}"},
     {"--write=/home/me/.config/x", "--write=/home/me/.config/y", "--write=/home/me/.config/z"}},
};

/* A report with these refusals; with @warning on each. */
static json_t *make_report(const char *const *grants, size_t most, const char *warning)
{
    json_t *items = json_array();

    for (size_t i = 0; i < most && grants[i]; i++) {
        char text[200];
        json_t *item;

        snprintf(text, sizeof(text), "%s", grants[i]);
        for (char *at = text; *at; at++)
            if (*at == '\'')
                *at = '"';
        item = json_pack("{s:s, s:s, s:i, s:n, s:s?, s:o}", "operation", "write", "path", "/x", "count", 1,
                         "noise", "warning", warning, "grant", json_loads(text, 0, NULL));
        need(item);
        json_array_append_new(items, item);
    }
    return json_pack("{s:{s:o}}", "denials", "items", items);
}

TEST_EACH(what_is_proposed, struct take_row, take_rows)
{
    char *env[] = {(char *)(uintptr_t) "HOME=/home/me", NULL};
    struct proposal proposal = {.home = "/home/me", .env = env};
    json_t *report = make_report(row->grants, ARRAY_SIZE(row->grants), NULL);
    struct strings words = {0};
    size_t count = 0;

    check(proposal_take(&proposal, report) > 0);
    check_int(proposal_take(&proposal, report), 0); /* the same again is nothing new */
    check_int(proposal_generalise(&proposal), 0);
    check_int(proposal_words(&proposal, &words), 0);
    while (count < ARRAY_SIZE(row->words) && row->words[count])
        count++;
    check_int((long)words.count, (long)count);
    for (size_t i = 0; i < count && i < words.count; i++)
        check_str(words.items[i], row->words[i]);
    strings_free(&words);
    proposal_free(&proposal);
    json_decref(report);
}

TEST(what_has_a_warning_is_not_proposed)
{
    static const char *const grants[] = {"{'unprotect': ['/w/.git/hooks']}"};
    struct proposal proposal = {0};
    json_t *report = make_report(grants, 1, "would hand over ./.git/hooks (git runs it)");

    check_int(proposal_take(&proposal, report), 0);
    check_int((long)proposal.count, 0);
    check_int((long)proposal.risky.count, 1);
    if (proposal.risky.count == 1)
        check_str(proposal.risky.items[0], "write /x: it would hand over ./.git/hooks (git runs it)");
    proposal_free(&proposal);
    json_decref(report);
}
