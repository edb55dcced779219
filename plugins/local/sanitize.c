/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitize.c: see sanitize.h.
 *
 * To add a command is to add a line to the table at `rules`.
 */
#include "sanitize.h"

#include "shell_reader.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEPTH_MAX = 8, NAME_SIZE = 64 };

/* What one reading of a script knows. */
struct search {
    const char *found;
    int depth;                   /* of scripts in arguments of scripts */
    char function[NAME_SIZE];    /* in whose body it is, */
    char before_pipe[NAME_SIZE]; /* and the command before a pipe */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_any_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

#define IS_ANY_OF(word, words) is_any_of((word), (words), sizeof(words) / sizeof(words)[0])

/* ------------------------------------------------------------------------------------------------
 * Rules: a command, seen from its name on
 * --------------------------------------------------------------------------------------------- */

/* A device that holds file systems, or memory. */
static bool is_disk(const char *path)
{
    static const char *const prefixes[] = {"sd",      "hd", "vd",  "xvd",   "nvme", "mmcblk",
                                           "mapper/", "md", "dm-", "disk/", "mem",  "kmem"};
    if (strncmp(path, "/dev/", 5) != 0)
        return false;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(path + 5, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Whether the options hold the letter, or the word. */
static bool has_option(char *const *words, size_t count, const char *letters, const char *word)
{
    for (size_t i = 1; i < count && strcmp(words[i], "--") != 0; i++) {
        bool is_long = strncmp(words[i], "--", 2) == 0;
        if (is_long ? strcmp(words[i], word) == 0
                    : words[i][0] == '-' && strpbrk(words[i] + 1, letters) != NULL)
            return true;
    }
    return false;
}

static bool removes_trees(char *const *words, size_t count)
{
    return has_option(words, count, "rR", "--recursive") &&
           has_option(words, count, "f", "--force");
}

static bool always(char *const *words, size_t count)
{
    (void)words;
    (void)count;
    return true;
}

static bool moves_to_null(char *const *words, size_t count)
{
    if (count > 1 && strcmp(words[count - 1], "/dev/null") == 0)
        return true;
    for (size_t i = 1; i < count; i++)
        if (strcmp(words[i], "--target-directory=/dev/null") == 0 ||
            (strcmp(words[i], "-t") == 0 && i + 1 < count &&
             strcmp(words[i + 1], "/dev/null") == 0))
            return true;
    return false;
}

static bool names_disk(char *const *words, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (is_disk(words[i]))
            return true;
    return false;
}

static bool ends_in_disk(char *const *words, size_t count)
{
    return count > 1 && is_disk(words[count - 1]);
}

static const struct rule {
    const char *command; /* a `*` at its end stands for anything */
    bool (*matches)(char *const *words, size_t count);
    const char *found;
} rules[] = {
    {"rm", removes_trees, "rm -rf"},
    {"dd", always, "dd"},
    {"mkfs", always, "mkfs, which makes a file system anew"},
    {"mkfs.*", always, "mkfs, which makes a file system anew"},
    {"mke2fs", always, "mke2fs, which makes a file system anew"},
    {"mkswap", names_disk, "mkswap on a disk"},
    {"wipefs", always, "wipefs"},
    {"blkdiscard", always, "blkdiscard"},
    {"mv", moves_to_null, "moving files to /dev/null"},
    {"mv", ends_in_disk, "writing to a disk"},
    {"cp", ends_in_disk, "writing to a disk"},
    {"tee", names_disk, "writing to a disk"},
    {"shred", names_disk, "writing to a disk"},
};

static bool is_command(const char *name, const char *pattern)
{
    size_t length = strlen(pattern);
    return pattern[length - 1] == '*' ? strncmp(name, pattern, length - 1) == 0
                                      : strcmp(name, pattern) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * Commands in commands
 * --------------------------------------------------------------------------------------------- */

/* Commands whose arguments are a command; the options before it are skipped. */
static const char *const wrappers[] = {
    "sudo",   "doas",    "env",     "exec",     "command", "builtin", "nohup",  "nice",
    "ionice", "timeout", "stdbuf",  "setsid",   "xargs",   "time",    "chroot", "busybox",
    "strace", "unshare", "taskset", "parallel", "watch",   "eval",
};

static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "ash"};

static void search_script(struct search *search, const char *script, size_t length);
static void search_words(struct search *search, char *const *words, size_t count);

/* A word that a wrapper takes for itself: an option, an assignment, a number or a time. */
static bool is_wrappers_own(const char *word)
{
    return word[0] == '-' || strchr(word, '=') != NULL ||
           (word[0] != '\0' && strspn(word, "0123456789.,smhd%x") == strlen(word) &&
            strpbrk(word, "0123456789") != NULL);
}

static void search_wrapped(struct search *search, char *const *words, size_t count)
{
    size_t first = 1;
    while (first < count && is_wrappers_own(words[first]))
        first++;
    search_words(search, words + first, count - first);
    /* The value of an option may stand in between (sudo -u user rm): what is a rule's name counts. */
    if (!search->found && first + 1 < count && words[first - 1][0] == '-')
        search_words(search, words + first + 1, count - first - 1);
}

/* find … -exec COMMAND */
static void search_find(struct search *search, char *const *words, size_t count)
{
    static const char *const runs[] = {"-exec", "-execdir", "-ok", "-okdir"};
    for (size_t i = 1; i + 1 < count && !search->found; i++)
        if (IS_ANY_OF(words[i], runs))
            search_words(search, words + i + 1, count - i - 1);
}

/* sh -c SCRIPT, also as -lc, -ec … */
static void search_shell(struct search *search, char *const *words, size_t count)
{
    for (size_t i = 1; i + 1 < count; i++) {
        if (words[i][0] == '-' && words[i][1] != '-' && strchr(words[i], 'c')) {
            search_script(search, words[i + 1], strlen(words[i + 1]));
            return;
        }
    }
}

static void search_words(struct search *search, char *const *words, size_t count)
{
    if (count == 0 || search->found || search->depth >= DEPTH_MAX)
        return;
    const char *name = base_name(words[0]);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (is_command(name, rules[i].command) && rules[i].matches(words, count)) {
            search->found = rules[i].found;
            return;
        }
    }
    search->depth++;
    if (IS_ANY_OF(name, wrappers))
        search_wrapped(search, words, count);
    else if (IS_ANY_OF(name, shells))
        search_shell(search, words, count);
    else if (strcmp(name, "find") == 0)
        search_find(search, words, count);
    if (strcmp(name, "eval") == 0 && count > 1)
        search_script(search, words[1], strlen(words[1]));
    search->depth--;
}

/* ------------------------------------------------------------------------------------------------
 * Scripts
 * --------------------------------------------------------------------------------------------- */

static void keep_name(char kept[NAME_SIZE], const char *name)
{
    size_t length = strlen(name);
    if (length < NAME_SIZE)
        memcpy(kept, name, length + 1);
    else
        kept[0] = '\0';
}

/* f() { f | f & } */
static void search_fork_bomb(struct search *search, const shell_command *command)
{
    const char *name = command->word_count > 0 ? command->words[0] : "";
    if (command->separator == '&' && *name && strcmp(name, search->before_pipe) == 0 &&
        strcmp(name, search->function) == 0)
        search->found = "a fork bomb";
    keep_name(search->before_pipe, command->separator == '|' ? name : "");
}

static bool on_command(void *context, const shell_command *command)
{
    struct search *search = context;
    for (size_t i = 0; i < command->written_count && !search->found; i++)
        if (is_disk(command->written[i]))
            search->found = "writing to a disk";
    if (!search->found)
        search_fork_bomb(search, command);
    search_words(search, command->words, command->word_count);
    return !search->found;
}

static bool on_function(void *context, const char *name)
{
    struct search *search = context;
    keep_name(search->function, name);
    return true;
}

static void search_script(struct search *search, const char *script, size_t length)
{
    const shell_visitor visitor = {
        .context = search, .on_command = on_command, .on_function = on_function};
    search->depth++;
    (void)shell_read(script, length, &visitor);
    search->depth--;
}

bool sanitize_reads(const char *language)
{
    return strcasecmp(language, "shell") == 0 || IS_ANY_OF(language, shells);
}

const char *sanitize_find(const char *code, size_t length)
{
    struct search search = {.found = NULL};
    search_script(&search, code, length);
    return search.found;
}
