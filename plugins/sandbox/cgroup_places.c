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

/* Whether MOUNT is the tree of CONTROLLER (version 2: NULL), or a part of it. */
static bool is_tree(const mount_entry *mount, const char *controller)
{
    return controller
               ? strcmp(mount->type, "cgroup") == 0 && has_word(mount->options, ",", controller)
               : strcmp(mount->type, "cgroup2") == 0;
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
static bool find_own(const mount_list *mounts, const char *membership_file, const char *controller,
                     char **own, char **top)
{
    *own = *top = NULL;
    char *path = find_membership(membership_file, controller);
    for (size_t i = 0; path && !*own && i < mounts->count; i++) {
        const mount_entry *mount = &mounts->entries[i];
        if (!is_tree(mount, controller))
            continue;
        *own = place_path(mount->root, mount->place, path);
        *top = *own ? strdup(mount->place) : NULL;
    }
    free(path);
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

static bool find_version_2(const mount_list *mounts, const char *membership_file,
                           const bool wanted[CGROUP_CONTROLLERS], bool enable,
                           cgroup_places *places)
{
    char *own = NULL;
    char *top = NULL;
    if (!find_own(mounts, membership_file, NULL, &own, &top))
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

static void find_version_1(const mount_list *mounts, const char *membership_file,
                           enum cgroup_controller controller, cgroup_places *places)
{
    char *own = NULL;
    char *top = NULL;
    if (!find_own(mounts, membership_file, controller_names[controller], &own, &top))
        return;
    free(top);
    if (may_write(own, ".")) {
        places->of[controller].version = 1;
        places->of[controller].folder = own;
    } else {
        free(own);
    }
}

bool cgroup_find(const mount_list *mounts, const char *membership_file,
                 const bool wanted[CGROUP_CONTROLLERS], bool enable, cgroup_places *places)
{
    memset(places, 0, sizeof *places);
    if (!find_version_2(mounts, membership_file, wanted, enable, places)) {
        cgroup_places_free(places);
        return false;
    }
    for (int i = 0; i < CGROUP_CONTROLLERS; i++)
        if (wanted[i] && !places->of[i].folder)
            find_version_1(mounts, membership_file, (enum cgroup_controller)i, places);
    return true;
}

void cgroup_places_free(cgroup_places *places)
{
    for (int i = 0; i < CGROUP_CONTROLLERS; i++)
        free(places->of[i].folder);
    memset(places, 0, sizeof *places);
}
