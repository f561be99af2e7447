/* maps.h - what the foreign formats mean here, for convert.c alone: one line a file of this folder. */
#ifndef TUNE_TUNER_FOREIGN_MAPS_H
#define TUNE_TUNER_FOREIGN_MAPS_H

#include "tuner/convert.h"

#endif
