/* SPDX-License-Identifier: MIT */
/* preamble_relu6.h - ReLU6 where preamble_store.h has ReLU; pasted behind it for workloads that have it, so that the
 * texts of all others stay as they are. */
#undef RELU1
#undef VRELU_IF
#define RELU1(v) ((v) > (SUM)0 ? (v) < (SUM)6 ? (v) : (SUM)6 : (SUM)0)
#if VEC == 1
#define VRELU_IF(v) RELU1(v)
#else
#define VRELU_IF(v) VCLAMP((v), 0, 6)
#endif
