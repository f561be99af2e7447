/* formats.h - the foreign formats, for foreign.c alone: one line a file of this folder. */
#ifndef TUNE_LOGS_FOREIGN_FORMATS_H
#define TUNE_LOGS_FOREIGN_FORMATS_H

#include "logs/foreign/foreign.h"

#endif
