/* deploy_bundle.h - writes a bundle: kernel texts, plan.json, manifest.json, C files, a CMake package. */
#ifndef TUNE_TUNER_DEPLOY_BUNDLE_H
#define TUNE_TUNER_DEPLOY_BUNDLE_H

#include "tuner/deploy_layer.h"

/* Writes all files of the bundle into `dir` (made when missing; files of an earlier bundle are replaced). The same
 * layers give the same bytes. ERR_IO, ERR_UNSUPPORTED, ERR_LIMIT with words. */
enum err deploy_bundle_write(const struct deploy_layer *layers, size_t n, const char *dir, struct why *why);

#endif
