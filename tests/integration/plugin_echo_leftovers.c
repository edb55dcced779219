/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_echo_leftovers.c: what the echo executor says that it has left: nothing of it is real.
 * A configuration {"left": "nothing" | "nonsense" | "trouble"} has it say other things.
 */
#include "plugin_echo_leftovers.h"
#include <stdio.h>
#include <string.h>

#define ENDED                                                                                      \
    "{\"kind\": \"container\", \"id\": \"0123456789abcdef0123\", \"name\": \"of-one-that-ended\"," \
    " \"state\": \"exited\", \"created\": 1000000000, \"image\": \"an:image\", \"kept\": true,"    \
    " \"owner\": {\"pid\": 17, \"alive\": false}}"
#define RUNNING                                                                                    \
    "{\"kind\": \"container\", \"id\": \"fedcba9876543210fedc\", \"name\": "                       \
    "\"evil\\u001b[31mname\\u009b\\u202e\","                                                       \
    " \"state\": \"running\", \"created\": null, \"image\": null, \"kept\": false,"                \
    " \"owner\": {\"pid\": 18, \"alive\": true}}"
#define FOREIGN                                                                                    \
    "{\"kind\": \"container\", \"id\": \"aaaa\", \"name\": \"foreign\", \"state\": \"running\","   \
    " \"created\": null, \"image\": null, \"kept\": false,"                                        \
    " \"owner\": {\"pid\": 19, \"alive\": null}}"
#define NOBODYS                                                                                    \
    "{\"kind\": \"volume\", \"id\": \"shared\", \"name\": \"shared\", \"state\": \"unused\","      \
    " \"created\": null, \"image\": null, \"kept\": false, \"owner\": null}"

static bool says(const char *config_json, const char *word)
{
    return config_json != NULL && strstr(config_json, word) != NULL;
}

static int32_t answer(const char *config_json, const char *items, char **json,
                      code_executor_error *error)
{
    if (says(config_json, "nothing"))
        items = "[]";
    if (says(config_json, "nonsense"))
        items = "[1, 2";
    *json = strdup(items);
    if (!says(config_json, "trouble"))
        return CODE_EXECUTOR_OK;
    error->status = CODE_EXECUTOR_UNAVAILABLE;
    snprintf(error->message, sizeof error->message, "there is trouble");
    return CODE_EXECUTOR_UNAVAILABLE;
}

static int32_t list(const char *config_json, char **json, code_executor_error *error)
{
    return answer(config_json, "[" ENDED ", " RUNNING ", " FOREIGN ", " NOBODYS "]", json, error);
}

static int32_t prune(const char *config_json, bool all, char **json, code_executor_error *error)
{
    return answer(config_json,
                  all ? "[" ENDED ", " RUNNING ", " FOREIGN ", " NOBODYS "]"
                      : "[" ENDED ", " NOBODYS "]",
                  json, error);
}

const code_executor_leftovers_v1 echo_leftovers = {sizeof echo_leftovers, list, prune};
