/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h: the configuration of the docker executor.
 */
#ifndef CODE_EXECUTOR_DOCKER_SCHEMA_H
#define CODE_EXECUTOR_DOCKER_SCHEMA_H

#include "config.h"

/* clang-format off */
#define DOCKER_SCHEMA                                                                              \
    COMMANDLINE_SCHEMA_BEGIN                                                                       \
    COMMANDLINE_SCHEMA_PROPERTIES                                                                  \
    JSON_TEXT(                                                                                     \
    "image": {                                                                                     \
        "type": "string", "minLength": 1, "default": "python:3-slim",                              \
        "pattern": "^[A-Za-z0-9][A-Za-z0-9._/:@-]*$",                                              \
        "errorMessage": {"pattern": "An image is named as in registry.example/name:tag."},         \
        "description": "The image of the container."                                               \
    },                                                                                             \
    "container_name": {                                                                            \
        "type": ["string", "null"], "default": null, "pattern": "^[a-zA-Z0-9][a-zA-Z0-9_.-]+$",    \
        "errorMessage": {"pattern": "A container's name is made of two or more letters, digits and _ . -"}, \
        "description": "The name of the container. null: code-executor- and random digits."        \
    },                                                                                             \
    "container": {                                                                                 \
        "type": ["string", "null"], "default": null, "pattern": "^[a-zA-Z0-9][a-zA-Z0-9_.-]*$",    \
        "errorMessage": {"pattern": "container is the name or id of a container that runs."},      \
        "description": "The name or id of a container that runs already: code runs in it, beside what else does, and nothing of it is stopped, changed or removed. The workspace is the mount of it that shows work_dir; where there is none it is copied. Options that make a container (image, network, memory, ...) are refused beside it; user and init_command are not." \
    },                                                                                             \
    "bind_dir": {                                                                                  \
        "type": ["string", "null"], "minLength": 1, "default": null,                               \
        "description": "The folder that is bound to /workspace, as the engine sees it, where that is another path than work_dir: when the host itself runs in a container. null: work_dir." \
    },                                                                                             \
    "workspace": {                                                                                 \
        "type": "string", "enum": ["auto", "bind", "copy"], "default": "auto",                     \
        "description": "How the container comes to see the workspace. bind: as a folder of the engine's machine. copy: files that changed are copied there before an execution, and back behind it. auto: bind where the engine sees the folder, else copy." \
    },                                                                                             \
    "workspace_max_bytes": {                                                                       \
        "type": "integer", "minimum": 1, "default": 1073741824,                                    \
        "description": "How much is copied at once at most, in either direction, where the workspace is copied." \
    },                                                                                             \
    "auto_remove": {                                                                               \
        "type": "boolean", "default": true,                                                        \
        "description": "Whether the container is removed when it has stopped. false: it stays, stopped, and the next start of the instance starts it again with the files in it." \
    },                                                                                             \
    "stop_container": {                                                                            \
        "type": "boolean", "default": true,                                                        \
        "description": "Whether the container is stopped by stop and by the end of the instance or of the host. false: it goes on with whatever code has left running in it; a later start or restart of the same instance puts a fresh one in its place." \
    },                                                                                             \
    "profile": {                                                                                   \
        "type": "string", "enum": ["standard", "strict"], "default": "standard",                   \
        "description": "Options in one word; those that are given beside it count. strict: no network, read-only files but for the workspace and 64 MB of /tmp in memory, no capabilities, user unprivileged, 512 MB of memory, one processor, 256 processes." \
    },                                                                                             \
    "restart": {                                                                                   \
        "type": "string", "enum": ["processes", "container"], "default": "processes",              \
        "description": "What restart renews: the processes, so that those that code has left are ended and the container stays with its files; or the container." \
    },                                                                                             \
    "pool": {                                                                                      \
        "type": "integer", "minimum": 0, "maximum": 1000, "default": 0,                            \
        "description": "How many containers are kept ready for the next starts of instances with this configuration, by a thread in the background: from the first start on until the last of them is destroyed. Each is used once. Needs a work_dir, and no container_name." \
    },                                                                                             \
    "user": {                                                                                      \
        "type": ["string", "null"], "minLength": 1, "default": null,                               \
        "description": "Who code runs as: a name of the image, or uid or uid:gid in numbers. auto: the uid and gid of the host process, so that files belong to it. unprivileged: the same, but never root: where the host process is root, the owner of the workspace, or where that is root too, 65534 with a group that may write there (the folder is given one). null: as the image says." \
    },                                                                                             \
    "network": {                                                                                   \
        "type": ["string", "null"], "minLength": 1, "default": null,                               \
        "description": "The network of the container: none, bridge, host, or one that was made with docker network create. null: the default of the engine." \
    },                                                                                             \
    "memory": {                                                                                    \
        "type": ["string", "integer", "null"], "minimum": 1, "default": null,                      \
        "pattern": "^[0-9]+([.][0-9]+)?[bBkKmMgGtT]?[bB]?$",                                       \
        "errorMessage": {"pattern": "memory is a number of bytes, or a number with k, m, g or t behind it, as in \"512m\"."}, \
        "description": "How much memory all of the container may use: bytes, or as in 512m and 2g." \
    },                                                                                             \
    "cpus": {                                                                                      \
        "type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1000000, "default": null,    \
        "description": "How many processors all of the container may use, as in 1.5."              \
    },                                                                                             \
    "pids_limit": {                                                                                \
        "type": ["integer", "null"], "minimum": 16, "default": 4096,                               \
        "description": "How many processes and threads there may be in the container at once. null: any number." \
    },                                                                                             \
    "read_only": {                                                                                 \
        "type": "boolean", "default": false,                                                       \
        "description": "Whether the files of the image cannot be changed. The workspace can, and /tmp is in memory then." \
    },                                                                                             \
    "tmpfs": {                                                                                     \
        "type": ["object", "array", "null"], "default": {},                                        \
        "items": {"type": "string", "pattern": "^/"},                                              \
        "propertyNames": {"pattern": "^/"},                                                        \
        "additionalProperties": {"type": "string"},                                                \
        "description": "Folders that are kept in memory: a list of paths, or path to options as in size=64m,exec." \
    },                                                                                             \
    "cap_drop": {                                                                                  \
        "type": ["array", "null"], "items": {"type": "string", "minLength": 1}, "default": [],     \
        "description": "Capabilities that are taken away from the default set, or ALL."            \
    },                                                                                             \
    "cap_add": {                                                                                   \
        "type": ["array", "null"], "items": {"type": "string", "minLength": 1}, "default": [],     \
        "description": "Capabilities that are added to the default set. With SYS_PTRACE or ALL, code that runs as root can forge results." \
    },                                                                                             \
    "security_opt": {                                                                              \
        "type": ["array", "null"], "items": {"type": "string", "minLength": 1}, "default": [],     \
        "description": "Security options as docker run takes them, beside no-new-privileges, which no-new-privileges:false turns off." \
    },                                                                                             \
    "runtime": {                                                                                   \
        "type": ["string", "null"], "minLength": 1, "default": null,                               \
        "description": "The runtime of the container, such as runsc or nvidia. null: the default of the engine." \
    },                                                                                             \
    "gpus": {                                                                                      \
        "type": ["string", "integer", "null"], "minimum": 1, "default": null,                      \
        "pattern": "^(all|device=.+)$",                                                            \
        "errorMessage": {"pattern": "gpus is all, a number, or device= and a list of ids."},       \
        "description": "GPUs for the container: all, how many, or device=0,1 for certain ones."    \
    },                                                                                             \
    "device_requests": {                                                                           \
        "type": ["array", "null"], "items": {"type": "object"}, "default": [],                     \
        "description": "Requests for devices as the API of the engine has them (HostConfig.DeviceRequests)." \
    },                                                                                             \
    "extra_volumes": {                                                                             \
        "type": ["array", "object", "null"], "default": [],                                        \
        "items": {                                                                                 \
            "type": "string", "pattern": ".:/",                                                    \
            "errorMessage": {"pattern": "an element of extra_volumes is SOURCE:TARGET or SOURCE:TARGET:MODE, as in \"/srv/data:/data:ro\"; TARGET begins with /"} \
        },                                                                                         \
        "additionalProperties": {                                                                  \
            "type": "object", "additionalProperties": false, "required": ["bind"],                 \
            "properties": {                                                                        \
                "bind": {"type": "string", "pattern": "^/", "default": "/", "description": "The path in the container."}, \
                "mode": {"type": "string", "minLength": 1, "default": "rw", "description": "rw or ro, and further options of docker run -v."} \
            }                                                                                      \
        },                                                                                         \
        "description": "Folders and volumes to mount beside the workspace: a list of SOURCE:TARGET[:MODE], or source to bind and mode." \
    },                                                                                             \
    "extra_hosts": {                                                                               \
        "type": ["array", "object", "null"], "default": [],                                        \
        "items": {                                                                                 \
            "type": "string", "pattern": ".:.",                                                    \
            "errorMessage": {"pattern": "an element of extra_hosts is NAME:ADDRESS, as in \"db:10.0.0.5\""} \
        },                                                                                         \
        "additionalProperties": {"type": "string"},                                                \
        "description": "Host names to add: a list of NAME:ADDRESS, or name to address. host-gateway stands for the address of the engine's machine." \
    },                                                                                             \
    "dns": {                                                                                       \
        "type": ["array", "null"], "items": {"type": "string", "minLength": 1}, "default": [],     \
        "description": "Addresses of name servers."                                                \
    },                                                                                             \
    "labels": {                                                                                    \
        "type": ["object", "null"], "additionalProperties": {"type": "string"}, "default": {},     \
        "description": "Labels for the container, beside those by which it is known again."        \
    },                                                                                             \
    "platform": {                                                                                  \
        "type": ["string", "null"], "minLength": 1, "default": null,                               \
        "description": "The platform of the image, as in linux/amd64. null: that of the engine."   \
    },                                                                                             \
    "pull": {                                                                                      \
        "type": "string", "enum": ["missing", "always", "never"], "default": "missing",            \
        "description": "When the image is pulled: when the engine does not have it, at every start, or never." \
    },                                                                                             \
    "registry_auth": {                                                                             \
        "type": ["object", "null"], "additionalProperties": false, "default": null,                \
        "properties": {                                                                            \
            "username": {"type": ["string", "null"], "default": null, "description": "The name of the account."}, \
            "password": {"type": ["string", "null"], "default": null, "description": "Its password or access token."}, \
            "identitytoken": {"type": ["string", "null"], "default": null, "description": "A token in place of name and password."}, \
            "registrytoken": {"type": ["string", "null"], "default": null, "description": "A bearer token for the registry."}, \
            "serveraddress": {"type": ["string", "null"], "default": null, "description": "The registry that they are for."} \
        },                                                                                         \
        "description": "Credentials for pulling the image. null: what docker login has filed for its registry, in config.json of DOCKER_CONFIG or ~/.docker or with a credential helper."                                        \
    },                                                                                             \
    "init_command": {                                                                              \
        "type": ["string", "null"], "minLength": 1, "default": null,                               \
        "description": "A shell command that is run in every new container before the first block, as in pip install -q numpy. It may take any time; when it fails, so does the start." \
    },                                                                                             \
    "container_create": {                                                                          \
        "type": ["object", "null"], "default": {},                                                 \
        "description": "Members for the body of the engine's create request, merged into it last: objects member by member, everything else in place of what was there." \
    },                                                                                             \
    "docker_host": {                                                                               \
        "type": ["string", "null"], "minLength": 1, "default": null,                               \
        "description": "Where the engine listens: unix:///path/of/socket, tcp://HOST:PORT, http:// or https://HOST:PORT, or ssh://USER@HOST. null: docker_context, else what the environment says (DOCKER_HOST, DOCKER_CONTEXT), else docker's current context, else unix:///var/run/docker.sock, or, when nobody answers there, a Docker or Podman of the user or a Podman of the system." \
    },                                                                                             \
    "docker_context": {                                                                            \
        "type": ["string", "null"], "minLength": 1, "default": null,                               \
        "description": "A docker context by name (docker context ls): its engine and its TLS files are used. null: see docker_host." \
    },                                                                                             \
    "tls": {                                                                                       \
        "type": ["object", "null"], "additionalProperties": false, "default": null,                \
        "properties": {                                                                            \
            "ca": {"type": ["string", "null"], "minLength": 1, "default": null, "description": "The file of the authorities that may vouch for the engine, in PEM form. null: those that the system trusts."}, \
            "cert": {"type": ["string", "null"], "minLength": 1, "default": null, "description": "The file of the client certificate. null: none is shown."}, \
            "key": {"type": ["string", "null"], "minLength": 1, "default": null, "description": "The file of its key, without a passphrase."}, \
            "verify": {"type": "boolean", "default": true, "description": "Whether the engine's certificate is verified. false: anybody on the way can take the engine's place."} \
        },                                                                                         \
        "description": "TLS with an engine at tcp:// or https://. null: as DOCKER_TLS_VERIFY and DOCKER_CERT_PATH say, or the context." \
    }                                                                                              \
    )                                                                                              \
    COMMANDLINE_SCHEMA_END
/* clang-format on */

#endif /* CODE_EXECUTOR_DOCKER_SCHEMA_H */
