/* SPDX-License-Identifier: MIT */
/* ktt_xml.h - the XML of KTT's results as trees of the shape its JSON has; text and elements of others are passed over.
 */
#ifndef TUNE_FORMATS_SYNTAX_KTT_XML_H
#define TUNE_FORMATS_SYNTAX_KTT_XML_H

#include "core/err.h"
#include "core/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ktt_xml_sink {
    /* A whole <Metadata> or <KernelResult>: attributes as members, numbers where they read as such; takes the tree.
     * False ends the reading, with words in `why` where that is an error. */
    bool (*element)(const char *tag, cJSON *takes, int64_t i_line, void *arg, struct why *why);
    void (*bad)(int64_t i_line, const char *words, void *arg);
    void *arg;
};

/* Calls the sink in file order; text that is cut short gives every whole element. ERR_NOMEM. */
enum err ktt_xml_read(const char *text, size_t n, const struct ktt_xml_sink *sink, struct why *why);

#endif
