/* SPDX-License-Identifier: MIT */
/* preamble_store.h - outputs: bias, residual, ReLU, requantisation, in this order; see preamble.h. */
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
#define RESIDUAL_ARG , residual
#define ADD_RESIDUAL(v, i) ((v) + WIDE_LOAD1(residual + (i)))
#define VADD_RESIDUAL(v, i) VADD((v), WIDE_VLOAD(residual + (i)))
#else
#define RESIDUAL_PARAM
#define RESIDUAL_ARG
#define ADD_RESIDUAL(v, i) (v)
#define VADD_RESIDUAL(v, i) (v)
#endif
#ifdef EPI_RELU
#define RELU1(v) ((v) > 0 ? (v) : (SUM)0)
#define VRELU_IF(v) VRELU(v)
#else
#define RELU1(v) (v)
#define VRELU_IF(v) (v)
#endif
#ifdef OUT_I8
#define SCALE_PARAM , GLOBAL const float *RESTRICT scale
#define SCALE_ARG , scale
#else
#define SCALE_PARAM
#define SCALE_ARG
#endif
#define Y_PARAMS GLOBAL OUT *RESTRICT y BIAS_PARAM RESIDUAL_PARAM SCALE_PARAM
#define Y_ARGS y BIAS_ARG RESIDUAL_ARG SCALE_ARG /* to hand Y_PARAMS on to a DEVICE function */
#define EPILOGUE1(i, k, v) RELU1(ADD_RESIDUAL(ADD_BIAS((v), (k)), (i)))
#define EPILOGUE_K(i, k, v) VRELU_IF(VADD_RESIDUAL(VADD_BIAS_K((v), (k)), (i)))
#define EPILOGUE_Q(i, k, v) VRELU_IF(VADD_RESIDUAL(VADD_BIAS_Q((v), (k)), (i)))
#ifdef OUT_I8
#define STORE_Y(i, k, v) y[i] = REQUANTISE1((float)EPILOGUE1(i, k, v) * scale[k])
#elif DT == 2
#define STORE_Y(i, k, v) y[i] = EPILOGUE1(i, k, v)
#else
#define STORE_Y(i, k, v) STORE1(y + (i), EPILOGUE1(i, k, v))
#endif
#if VEC == 1
#define STORE_YK(i, k, v) STORE_Y(i, k, v)
#define STORE_YQ(i, k, v) STORE_Y(i, k, v)
#elif defined(OUT_I8)
#define STORE_YK(i, k, v) VSTORE_REQUANTISED_K(EPILOGUE_K(i, k, v), scale + (k), y + (i))
#define STORE_YQ(i, k, v) VSTORE_REQUANTISED_Q(EPILOGUE_Q(i, k, v), scale[k], y + (i))
#elif DT == 2
#define STORE_YK(i, k, v) SUM_VSTORE(EPILOGUE_K(i, k, v), y + (i))
#define STORE_YQ(i, k, v) SUM_VSTORE(EPILOGUE_Q(i, k, v), y + (i))
#else
#define STORE_YK(i, k, v) VSTORE(EPILOGUE_K(i, k, v), y + (i))
#define STORE_YQ(i, k, v) VSTORE(EPILOGUE_Q(i, k, v), y + (i))
#endif
/* STORE_YK where i is a multiple of VEC. */
#if VEC == 1 || defined(OUT_I8)
#define STORE_YK_ALIGNED(i, k, v) STORE_YK(i, k, v)
#elif DT == 2
#define STORE_YK_ALIGNED(i, k, v) SUM_VSTORE_ALIGNED(EPILOGUE_K(i, k, v), y + (i))
#else
#define STORE_YK_ALIGNED(i, k, v) VSTORE_ALIGNED(EPILOGUE_K(i, k, v), y + (i))
#endif
