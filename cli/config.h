/* SPDX-License-Identifier: MIT */
/* config.h - one config from the command line: workload, --template, --config. */
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

/* A task of one workload, and the arm and config that were named in it: --template or the first of the best fit;
 * --config or the default. ERR_INPUT for a config that is not valid, with the constraint. task_fini when done. */
enum err cmd_config(const struct cli *c, const struct device_desc *d, struct task *t, size_t *i_arm, struct config *out,
                    struct why *why);

#endif
