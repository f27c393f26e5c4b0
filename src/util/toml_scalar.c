/*
 * toml_scalar.c - the words of TOML: texts, numbers, dates.
 *
 * Should:  say where a word is wrong.
 * Mustn't: take a control character, half a character, or a number that is written in a way of another
 * language.
 */
#include "util/toml_scalar.h"

#include <errno.h>
#include <math.h>

#define WORD_MOST 128 /* bytes of a number or a date */

void *toml_fail(struct toml *toml, size_t at, const char *what)
{
    int line = 1, column = 1;

    if (toml->failed)
        return NULL;
    for (size_t i = 0; i < at && i < toml->length; i++) {
        if (toml->text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)toml->text[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    toml->failed = error_set(toml->error, ERROR_POLICY_INVALID, 0, "policy-invalid", "%s:%d:%d: %s",
                             QUOTE(toml->name), line, column, what);
    return NULL;
}

void *toml_no_memory(struct toml *toml)
{
    if (!toml->failed)
        toml->failed = error_no_memory(toml->error);
    return NULL;
}

bool toml_check_text(struct toml *toml)
{
    for (size_t at = 0; at < toml->length;) {
        uint32_t character;
        size_t size = utf8_decode(toml->text + at, toml->length - at, &character);

        if (size == 0) {
            toml_fail(toml, at, "a byte that is no UTF-8");
            return false;
        }
        at += size;
    }
    return true;
}

char toml_peek(const struct toml *toml, size_t ahead)
{
    return toml->at + ahead < toml->length ? toml->text[toml->at + ahead] : '\0';
}

void toml_skip_blanks(struct toml *toml)
{
    while (toml_peek(toml, 0) == ' ' || toml_peek(toml, 0) == '\t')
        toml->at++;
}

bool toml_skip_newline(struct toml *toml)
{
    size_t size = toml_peek(toml, 0) == '\n'                                 ? 1
                  : toml_peek(toml, 0) == '\r' && toml_peek(toml, 1) == '\n' ? 2
                                                                             : 0;

    toml->at += size;
    return size > 0;
}

static bool is_control(char byte)
{
    return ((unsigned char)byte < 0x20 && byte != '\t') || byte == 0x7f;
}

static bool at_newline(const struct toml *toml)
{
    return toml_peek(toml, 0) == '\n' || (toml_peek(toml, 0) == '\r' && toml_peek(toml, 1) == '\n');
}

bool toml_skip_comment(struct toml *toml)
{
    for (; toml->at < toml->length && !at_newline(toml); toml->at++)
        if (is_control(toml->text[toml->at])) {
            toml_fail(toml, toml->at, "a control character");
            return false;
        }
    return true;
}

/* --- texts
 * -------------------------------------------------------------------------------------------------- */

static void add_character(struct text *text, uint32_t character)
{
    char bytes[4];
    size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = size; i-- > 1; character >>= 6)
        bytes[i] = (char)(0x80 | (character & 0x3f));
    bytes[0] = (char)(first[size] | character);
    text_add_bytes(text, bytes, size);
}

/* The DIGITS of `\u` or `\U`. */
static bool read_character(struct toml *toml, struct text *text, size_t digits)
{
    size_t from = toml->at;
    uint32_t character = 0;

    for (size_t i = 0; i < digits; i++, toml->at++) {
        static const char known[] = "0123456789abcdef0123456789ABCDEF";
        char byte = toml_peek(toml, 0);
        const char *digit = byte ? strchr(known, byte) : NULL;

        if (!digit) {
            toml_fail(toml, toml->at, "a digit of a character is expected here");
            return false;
        }
        character = character << 4 | (uint32_t)((digit - known) & 15);
    }
    if (character == 0 || character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) {
        toml_fail(toml, from, "no character, or NUL");
        return false;
    }
    add_character(text, character);
    return true;
}

/* Behind a backslash that ends its line: everything up to the next word. */
static bool skip_folded(struct toml *toml)
{
    toml_skip_blanks(toml);
    if (!toml_skip_newline(toml)) {
        toml_fail(toml, toml->at, "an escape that there is not");
        return false;
    }
    do
        toml_skip_blanks(toml);
    while (toml_skip_newline(toml));
    return true;
}

static bool read_escape(struct toml *toml, struct text *text, bool lines)
{
    static const char letters[] = "btnfr\"\\", meant[] = "\b\t\n\f\r\"\\";
    char byte = toml_peek(toml, 0);
    const char *letter = byte ? strchr(letters, byte) : NULL;

    if (letter) {
        text_add_bytes(text, &meant[letter - letters], 1);
        toml->at++;
        return true;
    }
    if (byte == 'u' || byte == 'U') {
        toml->at++;
        return read_character(toml, text, byte == 'u' ? 4 : 8);
    }
    if (lines && (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'))
        return skip_folded(toml);
    toml_fail(toml, toml->at, "an escape that there is not");
    return false;
}

/* Up to five quotes: at the end of several lines the first two may be part of the text. Return: is it the
 * end? */
static bool read_quotes(struct toml *toml, struct text *text, char quote)
{
    size_t count = 0;
    bool end;

    while (count < 5 && toml_peek(toml, count) == quote)
        count++;
    end = count >= 3;
    for (size_t i = end ? 3 : 0; i < count; i++)
        text_add_bytes(text, &quote, 1);
    toml->at += count;
    return end;
}

/* What stands between the quotes, the closing ones included. */
static bool read_inside(struct toml *toml, struct text *text, char quote, bool lines)
{
    for (;;) {
        char byte = toml_peek(toml, 0);

        if (toml->at >= toml->length) {
            toml_fail(toml, toml->at, "a text without an end");
            return false;
        }
        if (byte == quote && lines) {
            if (read_quotes(toml, text, quote))
                return true;
        } else if (byte == quote) {
            toml->at++;
            return true;
        } else if (byte == '\\' && quote == '"') {
            toml->at++;
            if (!read_escape(toml, text, lines))
                return false;
        } else if (is_control(byte) && !(lines && at_newline(toml))) {
            toml_fail(toml, toml->at, "a control character, or a text without an end");
            return false;
        } else {
            size_t size = byte == '\r' ? 2 : 1;

            text_add_bytes(text, toml->text + toml->at, size);
            toml->at += size;
        }
    }
}

char *toml_read_text(struct toml *toml, bool lines)
{
    char quote = toml_peek(toml, 0);
    struct text text = {0};

    lines = lines && toml_peek(toml, 1) == quote && toml_peek(toml, 2) == quote;
    toml->at += lines ? 3 : 1;
    if (lines)
        toml_skip_newline(toml);
    text_add(&text, "");
    if (!read_inside(toml, &text, quote, lines)) {
        text_free(&text);
        return NULL;
    }
    return text.failed ? toml_no_memory(toml) : text.data;
}

/* --- numbers and dates
 * -------------------------------------------------------------------------------------- */

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* COUNT digits at *WORD, a number from LEAST to MOST; *WORD then stands behind them. */
static bool take_number(const char **word, size_t count, int least, int most, int *ret)
{
    int number = 0;

    if (count_digits(*word) < count)
        return false;
    for (size_t i = 0; i < count; i++)
        number = number * 10 + *(*word)++ - '0';
    *ret = number;
    return number >= least && number <= most;
}

static bool take_byte(const char **word, const char *which)
{
    if (**word == '\0' || !strchr(which, **word))
        return false;
    (*word)++;
    return true;
}

static bool take_date(const char **word)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;

    if (!take_number(word, 4, 1, 9999, &year) || !take_byte(word, "-") ||
        !take_number(word, 2, 1, 12, &month) || !take_byte(word, "-") || !take_number(word, 2, 1, 31, &day))
        return false;
    return day <= days[month - 1] ||
           (month == 2 && day == 29 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

static bool take_time(const char **word)
{
    int number;

    if (!take_number(word, 2, 0, 23, &number) || !take_byte(word, ":") ||
        !take_number(word, 2, 0, 59, &number) || !take_byte(word, ":") ||
        !take_number(word, 2, 0, 59, &number))
        return false;
    if (take_byte(word, ".")) {
        if (count_digits(*word) == 0)
            return false;
        *word += count_digits(*word);
    }
    return true;
}

static bool take_offset(const char **word)
{
    int number;

    if (take_byte(word, "Zz") || **word == '\0')
        return true;
    return take_byte(word, "+-") && take_number(word, 2, 0, 23, &number) && take_byte(word, ":") &&
           take_number(word, 2, 0, 59, &number);
}

static bool is_date(const char *word)
{
    const char *at = word;

    if (word[count_digits(word)] == ':')
        return take_time(&at) && *at == '\0';
    if (!take_date(&at))
        return false;
    return *at == '\0' || (take_byte(&at, "Tt ") && take_time(&at) && take_offset(&at) && *at == '\0');
}

/* Takes the underscores out of WORD. Return: false where one does not stand between digits. */
static bool join_digits(char *word, const char *digits)
{
    char *to = word;

    for (const char *from = word; *from; from++) {
        if (*from != '_')
            *to++ = *from;
        else if (from == word || !strchr(digits, from[-1]) || from[1] == '\0' || !strchr(digits, from[1]))
            return false;
    }
    *to = '\0';
    return true;
}

/* Is it an integer, or a number with a point or an exponent, as TOML writes them? */
static bool is_decimal(const char *word, bool *ret_integer)
{
    size_t count;

    word += *word == '+' || *word == '-';
    count = count_digits(word);
    if (count == 0 || (count > 1 && *word == '0'))
        return false;
    word += count;
    *ret_integer = *word == '\0';
    if (*word == '.') {
        count = count_digits(++word);
        if (count == 0)
            return false;
        word += count;
    }
    if (*word == 'e' || *word == 'E') {
        word++;
        word += *word == '+' || *word == '-';
        count = count_digits(word);
        if (count == 0)
            return false;
        word += count;
    }
    return *word == '\0';
}

static json_t *make_integer(struct toml *toml, size_t at, const char *digits, int base)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(digits, &end, base);
    if (errno != 0 || *end != '\0')
        return toml_fail(toml, at, "an integer that is too large");
    return json_integer(number);
}

/* 0x, 0o and 0b. */
static json_t *make_based(struct toml *toml, size_t at, char *word)
{
    static const struct {
        char letter;
        int base;
        const char *digits;
    } bases[] = {{'x', 16, "0123456789abcdefABCDEF"}, {'o', 8, "01234567"}, {'b', 2, "01"}};

    for (size_t i = 0; i < ARRAY_SIZE(bases); i++)
        if (word[1] == bases[i].letter) {
            if (!join_digits(word + 2, bases[i].digits) || word[2] == '\0' ||
                word[2 + strspn(word + 2, bases[i].digits)] != '\0')
                break;
            return make_integer(toml, at, word + 2, bases[i].base);
        }
    return toml_fail(toml, at, "no number");
}

static json_t *make_number(struct toml *toml, size_t at, char *word)
{
    const char *unsigned_word = word + (*word == '+' || *word == '-');
    bool integer = false;
    double number;

    if (strcmp(unsigned_word, "inf") == 0 || strcmp(unsigned_word, "nan") == 0)
        return json_null();
    if (word[0] == '0' && word[1] >= 'a' && word[1] <= 'z' && word[1] != 'e')
        return make_based(toml, at, word);
    if (!join_digits(word, "0123456789") || !is_decimal(word, &integer))
        return toml_fail(toml, at, "no value");
    if (integer)
        return make_integer(toml, at, word, 10);
    number = strtod(word, NULL);
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *toml_read_scalar(struct toml *toml)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-_.:";
    size_t from = toml->at, length = 0;
    char word[WORD_MOST];
    json_t *value;

    while (toml_peek(toml, length) && strchr(letters, toml_peek(toml, length)))
        length++;
    if (length == 10 && toml_peek(toml, 4) == '-' && toml_peek(toml, 10) == ' ' &&
        toml_peek(toml, 11) >= '0' &&
        toml_peek(toml, 11) <= '9') /* a time behind a date, with a blank between them */
        for (length++; toml_peek(toml, length) && strchr(letters, toml_peek(toml, length));)
            length++;
    if (length == 0 || length >= sizeof(word))
        return toml_fail(toml, from, "a value is expected here");
    memcpy(word, toml->text + from, length);
    word[length] = '\0';
    toml->at += length;
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        value = json_boolean(word[0] == 't');
    else if (is_date(word))
        value = json_string(word);
    else
        value = make_number(toml, from, word);
    return value ? value : toml_no_memory(toml);
}
