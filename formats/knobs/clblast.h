/* SPDX-License-Identifier: MIT */
/* clblast.h - what CLBlast's tuners of matrix products and convolutions mean here: families xgemm, xgemm_direct and
 * xconvgemm are dense/gemm_tiled, dense/gemm_direct and the fused form of conv2d/im2col_gemm. */
#ifndef TUNE_FORMATS_KNOBS_CLBLAST_H
#define TUNE_FORMATS_KNOBS_CLBLAST_H

#include "core/err.h"
#include "core/json.h"
#include "kernels/template.h"

struct clblast_family;

/* By CLBlast's name, with or without the number behind it ("xgemm_1"), or by our template; NULL when there is none. */
const struct clblast_family *clblast_find(const char *name);
const struct clblast_family *clblast_of(const char *template_id);
const char *clblast_name(const struct clblast_family *f);   /* as its tuner writes it: "xgemm_1" */
const char *clblast_kernel(const struct clblast_family *f); /* "Xgemm" */
const struct template *clblast_template(const struct clblast_family *f);

/* precision and arg_* of a file (texts of numbers) as a workload: precision 32 and 16 (acc=f16). ERR_INPUT names what
 * lacks, ERR_UNSUPPORTED for other precisions. */
enum err clblast_workload(const struct clblast_family *f, const cJSON *args, struct workload *out, struct why *why);
/* And back; gives. ERR_UNSUPPORTED for what the tuner's problem has not: padding, strides, an epilogue. */
enum err clblast_args(const struct clblast_family *f, const struct workload *w, cJSON **out, struct why *why);

/* {"MWG":64,..} as a valid config for `w` on `d`; gives. ERR_INPUT for one that lacks, ERR_UNSUPPORTED for GEMMK=1 and
 * what else our space has not, in words. */
enum err clblast_knobs(const struct clblast_family *f, const struct workload *w, const struct device_desc *d,
                       const cJSON *parameters, cJSON **out, struct why *why);
/* And back; gives. ERR_UNSUPPORTED where our config is none of CLBlast's: sums in parts, several stages. */
enum err clblast_parameters(const struct clblast_family *f, const struct workload *w, const cJSON *knobs, cJSON **out,
                            struct why *why);

#endif
