/*
 * session_hearers.c - see session_hearers.h.
 *
 * Should:  answer whoever asks for what is only counted when that very question has been answered by the
 *          gateway: the answer to an earlier one may have left something out.
 * Mustn't: wait for a run. One that does not take what it is told is told nothing more, and sees that.
 */
#include "run/session_hearers.h"

#include "run/session_wire.h"
#include "util/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static void send_to(struct hearers *hearers, size_t index, const char *packet, size_t size)
{
    if (send(hearers->fd[index], packet, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
        hearers->fd[index] = fd_close(hearers->fd[index]);
}

static void pass_on(void *self, bool told, const char *packet, size_t size)
{
    struct hearers *hearers = self;

    hearers->answers += told;
    for (size_t i = 0; i < HEARERS; i++) {
        if (hearers->fd[i] < 0 || (told && (hearers->asked[i] == 0 || hearers->asked[i] > hearers->answers)))
            continue;
        if (told)
            hearers->asked[i] = 0;
        send_to(hearers, i, packet, size);
    }
}

void hearers_clear(struct hearers *hearers, struct gateway *gateway)
{
    *hearers = (struct hearers){.gateway = gateway};
    for (size_t i = 0; i < HEARERS; i++)
        hearers->fd[i] = -1;
    gateway->heard = pass_on;
    gateway->hearer = hearers;
}

bool hearers_add(struct hearers *hearers, int fd)
{
    for (size_t i = 0; i < HEARERS; i++) {
        if (hearers->fd[i] >= 0)
            continue;
        if (gateway_say(hearers->gateway, "anew", NULL, NULL) < 0)
            return false;
        hearers->fd[i] = fd;
        hearers->asked[i] = 0;
        return true;
    }
    return false;
}

void hearers_wait(const struct hearers *hearers, struct pollfd *ready)
{
    for (size_t i = 0; i < HEARERS; i++)
        ready[i] = (struct pollfd){.fd = hearers->fd[i], .events = POLLIN};
}

/* A rule for all runs. What the gateway says to it is passed on; what it is not asked is answered here.
 * Return: whether it was, or has been. */
static bool take_rule(struct hearers *hearers, size_t index, const char *rule)
{
    static const char prefix[] = "allow: "; /* whoever is answered has its own */
    struct writer writer = {.compact = true};
    struct error error = {0};
    const char *why = error.message;

    if (gateway_part.allow(hearers->gateway, rule, &error) == 0)
        return true;
    if (strncmp(why, prefix, strlen(prefix)) == 0)
        why += strlen(prefix);
    writer_object(&writer, NULL);
    writer_text(&writer, "type", "allow-refused");
    writer_text(&writer, "rule", rule);
    writer_text(&writer, "reason", why);
    writer_end(&writer);
    if (!writer.text.failed)
        send_to(hearers, index, writer.text.data, writer.text.length);
    text_free(&writer.text);
    return hearers->fd[index] >= 0;
}

/* Return: whether it is a word that is known, and was taken. */
static bool take_word(struct hearers *hearers, size_t index, char *word, size_t size)
{
    word[size] = '\0';
    switch ((enum session_word)word[0]) {
    case SESSION_WORD_TELL:
        if (gateway_say(hearers->gateway, "tell", NULL, NULL) < 0)
            return false;
        hearers->asked[index] = ++hearers->asks;
        return true;
    case SESSION_WORD_ALLOW:
        return take_rule(hearers, index, word + 1);
    }
    return false;
}

void hearers_hear(struct hearers *hearers, const struct pollfd *ready)
{
    for (size_t i = 0; i < HEARERS; i++) {
        static char word[SESSION_WORD_MOST + 1];
        ssize_t got;

        if (ready[i].revents == 0 || hearers->fd[i] != ready[i].fd)
            continue;
        got = recv(hearers->fd[i], word, SESSION_WORD_MOST, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got <= 0 || !take_word(hearers, i, word, (size_t)got))
            hearers->fd[i] = fd_close(hearers->fd[i]);
    }
}
