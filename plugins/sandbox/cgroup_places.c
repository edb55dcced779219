/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_places.c: where a new cgroup can be made; see cgroup.h.
 *
 *     /proc/self/mountinfo   which trees are mounted, where, and which part of each
 *     /proc/self/cgroup      where in each tree this process is
 *     the folders            what may be written, what is handed down
 */
#include "cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const controller_names[CGROUP_CONTROLLERS] = {
    [CGROUP_MEMORY] = "memory", [CGROUP_CPU] = "cpu", [CGROUP_PIDS] = "pids"};

/* Whether LIST, words between SEPARATORS, holds WORD. */
static bool has_word(const char *list, const char *separators, const char *word)
{
    size_t length = strlen(word);
    while (*list) {
        size_t span = strcspn(list, separators);
        if (span == length && strncmp(list, word, length) == 0)
            return true;
        list += span;
        list += strspn(list, separators);
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * Our own folder in a tree
 * --------------------------------------------------------------------------------------------- */

/* The path of this process in the tree of CONTROLLER (version 2: NULL); free(), NULL where unknown. */
static char *find_membership(const char *file_name, const char *controller)
{
    FILE *file = fopen(file_name, "re");
    char *line = NULL;
    size_t room = 0;
    char *found = NULL;
    while (file && !found && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        controllers++;
        if (controller ? has_word(controllers, ",", controller) : *controllers == '\0')
            found = strdup(path);
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Undoes the \040 by which mountinfo writes a space, in place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        unsigned code = 0;
        if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Whether LINE of mountinfo is the tree of CONTROLLER (version 2: NULL); then *ROOT is the part of the
 * tree that is mounted, *MOUNT where. Both point into LINE, which is taken apart. */
static bool is_tree(char *line, const char *controller, char **root, char **mount)
{
    char *tail = strstr(line, " - ");
    if (!tail)
        return false;
    *tail = '\0';
    char type[32] = "";
    char options[512] = "";
    if (sscanf(tail + 3, "%31s %*s %511s", type, options) != 2)
        return false;
    if (controller ? strcmp(type, "cgroup") != 0 || !has_word(options, ",", controller)
                   : strcmp(type, "cgroup2") != 0)
        return false;
    char *rest = NULL;
    char *field = strtok_r(line, " ", &rest);
    for (int i = 1; field && i < 4; i++)
        field = strtok_r(NULL, " ", &rest);
    *root = field;
    *mount = field ? strtok_r(NULL, " ", &rest) : NULL;
    if (!*mount)
        return false;
    unescape(*root);
    unescape(*mount);
    return true;
}

/* The folder of the group at PATH of the tree whose part ROOT is mounted at MOUNT; NULL: not visible. */
static char *place_path(const char *root, const char *mount, const char *path)
{
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    /* "/../x": outside of the namespace's own part. */
    if (strncmp(path, root, length) != 0 || strstr(path, "/.."))
        return NULL;
    path += length;
    size_t room = strlen(mount) + strlen(path) + 1;
    char *folder = malloc(room);
    if (!folder)
        return NULL;
    snprintf(folder, room, "%s%s", mount, strcmp(path, "/") == 0 ? "" : path);
    return folder;
}

/* Our own folder in the tree of CONTROLLER (version 2: NULL), and the tree's mount; both free(). */
static bool find_own(const char *mounts_file, const char *membership_file, const char *controller,
                     char **own, char **top)
{
    *own = *top = NULL;
    char *path = find_membership(membership_file, controller);
    FILE *file = path ? fopen(mounts_file, "re") : NULL;
    char *line = NULL;
    size_t room = 0;
    while (file && !*own && getline(&line, &room, file) > 0) {
        char *root = NULL;
        char *mount = NULL;
        line[strcspn(line, "\n")] = '\0';
        if (!is_tree(line, controller, &root, &mount))
            continue;
        *own = place_path(root, mount, path);
        *top = *own ? strdup(mount) : NULL;
    }
    free(line);
    free(path);
    if (file)
        fclose(file);
    if (*own && *top)
        return true;
    free(*own);
    free(*top);
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * Folders
 * --------------------------------------------------------------------------------------------- */

static bool may_write(const char *folder, const char *file)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    return length > 0 && (size_t)length < sizeof path && access(path, W_OK) == 0;
}

/* Whether FILE of FOLDER, a list of words, holds WORD. */
static bool file_has(const char *folder, const char *file, const char *word)
{
    char path[PATH_MAX];
    char text[1024];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (length <= 0 || (size_t)length >= sizeof path)
        return false;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    ssize_t count = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    text[count > 0 ? count : 0] = '\0';
    return has_word(text, " \n", word);
}

/* Makes FOLDER hand CONTROLLER down. */
static bool hand_down(const char *folder, const char *controller)
{
    char path[PATH_MAX];
    char text[32];
    int length = snprintf(path, sizeof path, "%s/cgroup.subtree_control", folder);
    if (length <= 0 || (size_t)length >= sizeof path)
        return false;
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    length = snprintf(text, sizeof text, "+%s", controller);
    bool written = write(descriptor, text, (size_t)length) == length;
    close(descriptor);
    return written;
}

/*
 * Whether a group can be made in FOLDER that takes processes. It cannot where FOLDER has some of its own,
 * though the kernel hands cpu and pids down even there: what is made there is of no use, and FOLDER's
 * processes, the host's, are in a group of another kind from then on. The top of the whole tree is exempt;
 * it is the one without a type.
 */
static bool takes_groups(const char *folder)
{
    char path[PATH_MAX];
    char text[16];
    if (!may_write(folder, ".") || !may_write(folder, "cgroup.procs"))
        return false;
    (void)snprintf(path, sizeof path, "%s/cgroup.type", folder);
    if (access(path, F_OK) != 0)
        return true;
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    ssize_t length = read(descriptor, text, sizeof text);
    close(descriptor);
    return length == 0;
}

/* How many of the WANTED controllers a group beneath FOLDER would have. */
static int count_handed_down(const char *folder, const bool wanted[CGROUP_CONTROLLERS], bool enable)
{
    int count = 0;
    for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
        const char *name = controller_names[i];
        if (wanted[i] &&
            (file_has(folder, "cgroup.subtree_control", name) ||
             (enable && file_has(folder, "cgroup.controllers", name) && hand_down(folder, name))))
            count++;
    }
    return count;
}

/*
 * The folder on the way up from OWN to TOP that hands down most of what is WANTED; of several the
 * nearest. OWN is cut to it. False: none hands down any.
 */
static bool climb(char *own, const char *top, const bool wanted[CGROUP_CONTROLLERS], bool enable)
{
    int best = 0;
    size_t best_length = 0;
    char *path = strdup(own);
    while (path) {
        int count = takes_groups(path) ? count_handed_down(path, wanted, enable) : 0;
        if (count > best) {
            best = count;
            best_length = strlen(path);
        }
        char *slash = strrchr(path, '/');
        if (strlen(path) <= strlen(top) || !slash)
            break;
        *slash = '\0';
    }
    free(path);
    own[best_length] = '\0';
    return best > 0;
}

static bool find_version_2(const char *mounts_file, const char *membership_file,
                           const bool wanted[CGROUP_CONTROLLERS], bool enable,
                           cgroup_places *places)
{
    char *own = NULL;
    char *top = NULL;
    if (!find_own(mounts_file, membership_file, NULL, &own, &top))
        return true;
    char *from = strdup(own);
    /* What is handed down already is taken before anything is changed. */
    bool found = climb(own, top, wanted, false);
    if (!found && enable && from) {
        strcpy(own, from);
        found = climb(own, top, wanted, true);
    }
    bool memory = from != NULL;
    for (int i = 0; found && i < CGROUP_CONTROLLERS; i++) {
        if (!wanted[i] || !file_has(own, "cgroup.subtree_control", controller_names[i]))
            continue;
        places->of[i].version = 2;
        places->of[i].folder = strdup(own);
        memory = memory && places->of[i].folder;
    }
    free(from);
    free(own);
    free(top);
    return memory;
}

static void find_version_1(const char *mounts_file, const char *membership_file,
                           enum cgroup_controller controller, cgroup_places *places)
{
    char *own = NULL;
    char *top = NULL;
    if (!find_own(mounts_file, membership_file, controller_names[controller], &own, &top))
        return;
    free(top);
    if (may_write(own, ".")) {
        places->of[controller].version = 1;
        places->of[controller].folder = own;
    } else {
        free(own);
    }
}

bool cgroup_find(const char *mounts_file, const char *membership_file,
                 const bool wanted[CGROUP_CONTROLLERS], bool enable, cgroup_places *places)
{
    memset(places, 0, sizeof *places);
    if (!find_version_2(mounts_file, membership_file, wanted, enable, places)) {
        cgroup_places_free(places);
        return false;
    }
    for (int i = 0; i < CGROUP_CONTROLLERS; i++)
        if (wanted[i] && !places->of[i].folder)
            find_version_1(mounts_file, membership_file, (enum cgroup_controller)i, places);
    return true;
}

void cgroup_places_free(cgroup_places *places)
{
    for (int i = 0; i < CGROUP_CONTROLLERS; i++)
        free(places->of[i].folder);
    memset(places, 0, sizeof *places);
}
