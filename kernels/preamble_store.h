/* SPDX-License-Identifier: MIT */
/* preamble_store.h - outputs: bias, residual, ReLU, requantisation, in this order; EPI_JOIN: bias, requantisation, the
 * sum with a residual of bytes, both rescaled, ReLU. See preamble.h. */
#if DT == 2
#define WIDE int /* type of bias and residual in memory */
#define WIDE_LOAD1(p) (*(p))
#define WIDE_VLOAD(p) SUM_VLOAD(p)
#else
#define WIDE ELEM
#define WIDE_LOAD1(p) LOAD1(p)
#define WIDE_VLOAD(p) VLOAD(p)
#endif
#ifdef EPI_BIAS
#define BIAS_PARAM , GLOBAL const WIDE *RESTRICT bias
#define BIAS_ARG , bias
#define ADD_BIAS(v, k) ((v) + WIDE_LOAD1(bias + (k)))
#define VADD_BIAS_K(v, k) VADD((v), WIDE_VLOAD(bias + (k)))
#define VADD_BIAS_Q(v, k) VADD((v), VSET(WIDE_LOAD1(bias + (k))))
#else
#define BIAS_PARAM
#define BIAS_ARG
#define ADD_BIAS(v, k) (v)
#define VADD_BIAS_K(v, k) (v)
#define VADD_BIAS_Q(v, k) (v)
#endif
#ifdef EPI_ADD
#define RESIDUAL_PARAM , GLOBAL const WIDE *RESTRICT residual
#define ADD_RESIDUAL(v, i) ((v) + WIDE_LOAD1(residual + (i)))
#define VADD_RESIDUAL(v, i) VADD((v), WIDE_VLOAD(residual + (i)))
#else
#define ADD_RESIDUAL(v, i) (v)
#define VADD_RESIDUAL(v, i) (v)
#endif
#ifdef EPI_JOIN
#define RESIDUAL_PARAM , GLOBAL const ELEM *RESTRICT residual
#define SUM_SCALE_PARAM , GLOBAL const float *RESTRICT sum_scale
#define SUM_SCALE_ARG , sum_scale
#else
#define SUM_SCALE_PARAM
#define SUM_SCALE_ARG
#endif
#ifdef RESIDUAL_PARAM
#define RESIDUAL_ARG , residual
#else
#define RESIDUAL_PARAM
#define RESIDUAL_ARG
#endif
#if defined(EPI_RELU) && !defined(OUT_BYTES)
#define RELU1(v) ((v) > 0 ? (v) : (SUM)0)
#define VRELU_IF(v) VRELU(v)
#else
#define RELU1(v) (v)
#define VRELU_IF(v) (v)
#endif
#ifdef OUT_BYTES
#define SCALE_PARAM , GLOBAL const float *RESTRICT scale
#define SCALE_ARG , scale
#else
#define SCALE_PARAM
#define SCALE_ARG
#endif
#ifdef UNSIGNED
#define ZERO_PARAM , GLOBAL const int *RESTRICT zero
#define ZERO_ARG , zero
#else
#define ZERO_PARAM
#define ZERO_ARG
#endif
#define Y_PARAMS GLOBAL OUT *RESTRICT y BIAS_PARAM RESIDUAL_PARAM SCALE_PARAM SUM_SCALE_PARAM ZERO_PARAM
#define Y_ARGS y BIAS_ARG RESIDUAL_ARG SCALE_ARG SUM_SCALE_ARG ZERO_ARG /* to hand Y_PARAMS on to a DEVICE function */
#define EPILOGUE1(i, k, v) RELU1(ADD_RESIDUAL(ADD_BIAS((v), (k)), (i)))
#define EPILOGUE_K(i, k, v) VRELU_IF(VADD_RESIDUAL(VADD_BIAS_K((v), (k)), (i)))
#define EPILOGUE_Q(i, k, v) VRELU_IF(VADD_RESIDUAL(VADD_BIAS_Q((v), (k)), (i)))
/* JOIN1, JOIN: what is requantised for element i (or VEC from there) of scaled sums. */
#ifdef EPI_JOIN
#define ZERO_OF_Y ZERO_OF(3)
#define JOIN1(i, f) SUM_OF_SCALED1(ROUNDED1((f), ZERO_OF(1)), (float)((int)residual[i] - ZERO_OF(2)), sum_scale)
#define JOIN(i, f) SUM_OF_SCALED(ROUNDED((f), ZERO_OF(1)), FLOATS_OF(VLOAD(residual + (i)) - ZERO_OF(2)), sum_scale)
#else
#define ZERO_OF_Y ZERO_OF(1)
#define JOIN1(i, f) (f)
#define JOIN(i, f) (f)
#endif
#ifdef EPI_RELU /* scales are positive: what is negative stays so */
#define LEAST_OF_Y (LEAST(ZERO_OF_Y) < 0.0f ? 0.0f : LEAST(ZERO_OF_Y))
#else
#define LEAST_OF_Y LEAST(ZERO_OF_Y)
#endif
#ifdef OUT_BYTES
#define STORE_Y(i, k, v) y[i] = REQUANTISED1(JOIN1((i), (float)EPILOGUE1(i, k, v) * scale[k]), LEAST_OF_Y, ZERO_OF_Y)
#elif DT == 2
#define STORE_Y(i, k, v) y[i] = EPILOGUE1(i, k, v)
#else
#define STORE_Y(i, k, v) STORE1(y + (i), EPILOGUE1(i, k, v))
#endif
#if VEC == 1
#define STORE_YK(i, k, v) STORE_Y(i, k, v)
#define STORE_YQ(i, k, v) STORE_Y(i, k, v)
#elif defined(OUT_BYTES) && defined(TUNE_CUDA)
#define STORE_YK(i, k, v) UNROLL for (int l_ = 0; l_ < VEC; l_++) STORE_Y((i) + l_, (k) + l_, lane_of((v), l_))
#define STORE_YQ(i, k, v) UNROLL for (int l_ = 0; l_ < VEC; l_++) STORE_Y((i) + l_, (k), lane_of((v), l_))
#elif defined(OUT_BYTES)
#define STORE_YK(i, k, v)                                                                                              \
    STORE_REQUANTISED(JOIN((i), FLOATS_OF(EPILOGUE_K(i, k, v)) * FLOATS_LOAD(scale + (k))), LEAST_OF_Y, ZERO_OF_Y,     \
                      y + (i))
#define STORE_YQ(i, k, v)                                                                                              \
    STORE_REQUANTISED(JOIN((i), FLOATS_OF(EPILOGUE_Q(i, k, v)) * scale[k]), LEAST_OF_Y, ZERO_OF_Y, y + (i))
#elif DT == 2
#define STORE_YK(i, k, v) SUM_VSTORE(EPILOGUE_K(i, k, v), y + (i))
#define STORE_YQ(i, k, v) SUM_VSTORE(EPILOGUE_Q(i, k, v), y + (i))
#else
#define STORE_YK(i, k, v) VSTORE(EPILOGUE_K(i, k, v), y + (i))
#define STORE_YQ(i, k, v) VSTORE(EPILOGUE_Q(i, k, v), y + (i))
#endif
/* STORE_YK, STORE_YQ where i is a multiple of VEC. */
#if VEC == 1 || defined(OUT_BYTES)
#define STORE_YK_ALIGNED(i, k, v) STORE_YK(i, k, v)
#define STORE_YQ_ALIGNED(i, k, v) STORE_YQ(i, k, v)
#elif DT == 2
#define STORE_YK_ALIGNED(i, k, v) SUM_VSTORE_ALIGNED(EPILOGUE_K(i, k, v), y + (i))
#define STORE_YQ_ALIGNED(i, k, v) SUM_VSTORE_ALIGNED(EPILOGUE_Q(i, k, v), y + (i))
#else
#define STORE_YK_ALIGNED(i, k, v) VSTORE_ALIGNED(EPILOGUE_K(i, k, v), y + (i))
#define STORE_YQ_ALIGNED(i, k, v) VSTORE_ALIGNED(EPILOGUE_Q(i, k, v), y + (i))
#endif
