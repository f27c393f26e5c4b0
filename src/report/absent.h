/*
 * absent.h - what the command was told of, and could not find: a view has a /tmp of its own.
 */
#ifndef CONFINE_REPORT_ABSENT_H
#define CONFINE_REPORT_ABSENT_H

/* How such a warning begins. */
#define ABSENT_REASON "private-place"

struct report;

/*
 * absent_find() - after a run that ended with an error: what its words name in a place that is private
 * inside, what is there outside, and was not shown. Fills @report->absent, and says it in its warnings;
 * without memory not all of it.
 */
void absent_find(struct report *report);

#endif
