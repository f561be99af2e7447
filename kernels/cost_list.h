/* SPDX-License-Identifier: MIT */
/* clang-format off */
/* cost_list.h - ln ns of a template's default on CPUs; made by `scripts/template_costs.py fit`, not by hand. Records:
 * 2026-11-23, Intel(R) Xeon(R) Processor, family 6 model 167 stepping 1, OpenCL 3.0 PoCL 3.1+debian:
 * 174 layers of f32, threads [1]. */
{DEVICE_CPU, "conv2d/direct_tile", {[AT_one]=-4.4072, [AT_flops]=0.5992, [AT_c]=0.0107, [AT_k]=0.1184, [AT_h]=0.1139,
 [AT_w]=0.1139, [AT_r]=-0.0200, [AT_s]=0.0045, [AT_stride]=-0.1763, [AT_groups]=0.0524, [AT_layout]=-0.0807}},
{DEVICE_CPU, "conv2d/direct_row", {[AT_one]=-3.6334, [AT_flops]=0.5962, [AT_c]=0.0277, [AT_k]=0.0914, [AT_h]=0.0342,
 [AT_w]=0.0342, [AT_r]=0.0729, [AT_s]=0.0795, [AT_stride]=0.0710, [AT_groups]=0.0040}},
{DEVICE_CPU, "conv2d/winograd_tile", {[AT_one]=-1.7198, [AT_flops]=0.4917, [AT_c]=-0.1916, [AT_k]=0.3294, [AT_h]=0.0684,
 [AT_w]=0.0684, [AT_layout]=-0.0736}},
{DEVICE_CPU, "dense/gemm_packed", {[AT_one]=-9.2761, [AT_flops]=0.5400, [AT_k]=0.4425, [AT_m]=-0.4084, [AT_n]=0.5059}},
{DEVICE_CPU, "dense/gemv", {[AT_one]=-7.3146, [AT_flops]=0.5175, [AT_k]=0.4406, [AT_m]=-0.2632, [AT_n]=0.3401}},
