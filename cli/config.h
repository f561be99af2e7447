/* SPDX-License-Identifier: MIT */
/* config.h - one config from the command line: workload and --template, or --kernel-spec; --config. */
#ifndef TUNE_CLI_CONFIG_H
#define TUNE_CLI_CONFIG_H

#include "cli/cmd.h"
#include "core/err.h"

#include <stddef.h>

#define OPT_CONFIG                                                                                                     \
    CLI_OPTION("config", CLI_TEXT, .letter = 'c', .argument = "KNOBS",                                                 \
               .help = "\"vc=4 vw=4 ...\"; else the template's default")

/* Is --template, where it is given, the id of one template that computes the workload? ERR_INPUT with words. */
enum err cmd_check_template(const struct cli *c, struct why *why);

/* Is exactly one thing named: a workload (checked here), --kernel-spec, or the option `other` (NULL = none)?
 * ERR_INPUT with words. */
enum err cmd_check_subject(const struct cli *c, const char *other, struct why *why);

/* A valid config of a space from its text; ERR_INPUT with the constraint that fails. */
enum err cmd_choose_config(const struct space *s, const char *text, struct config *out, struct why *why);

/* A task of one workload, or of --kernel-spec, and the arm and config that were named in it: --template or the first of
 * the best fit;
 * --config or the default. ERR_INPUT for a config that is not valid, with the constraint. task_fini when done. */
enum err cmd_config(const struct cli *c, const struct device_desc *d, struct task *t, size_t *i_arm, struct config *out,
                    struct why *why);

#endif
