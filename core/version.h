/* SPDX-License-Identifier: MIT */
/* version.h - which tune this is. */
#ifndef TUNE_CORE_VERSION_H
#define TUNE_CORE_VERSION_H

/* "0.2.0+49a03006ab12": the version, and the commit where it is known. */
const char *version_text(void);

#endif
