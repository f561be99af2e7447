/* gemm_tiled.cl - y[m,n] = sum over k of x[m,k] * w[n,k], f32 f16, all epilogues, for GPUs: both factors k-major and padded to
 * whole tiles, xt[k][m] (written by a launch of the timed run) and wt[k][n] (packed at load); a group computes MWG x NWG outputs.
 * Knobs: MWG NWG KWG tile; MDIMC NDIMC work-items along m and n; MDIMA NDIMB along m and n while loading; KWI unroll along k;
 * VWM VWN consecutive elements of an item (VWN is the vector of arithmetic, VEC); STRM STRN 1: an item's vectors lie MDIMC*VWM
 * (NDIMC*VWN) apart, 0: together; SA SB tiles of x, w in local memory; SPLIT of k: groups write part[SPLIT][m][n], then added up.
 * Launch: local (NDIMC, MDIMC, 1); groups (SPLIT * ceil(M / MWG) * ceil(N / NWG), 1, 1). */
#ifndef M
#define BATCH 1
#define M 4
#define N 8
#define K 16
#endif
#ifndef MWG
#define MWG 16
#define NWG 32
#define KWG 16
#define MDIMC 8
#define NDIMC 8
#define MDIMA 8
#define NDIMB 8
#define KWI 2
#define VWM 1
#define VWN 4
#define STRM 0
#define STRN 0
#define SA 1
#define SB 1
#define SPLIT 1
#endif

#define MGROUPS CEIL_DIV(M, MWG)
#define NGROUPS CEIL_DIV(N, NWG)
#define MP (MGROUPS * MWG)
#define NP (NGROUPS * NWG)
#define K_PART (CEIL_DIV(K, KWG *SPLIT) * KWG)
#define KP (K_PART * SPLIT)
#define WG (MDIMC * NDIMC)
#define MWI (MWG / MDIMC)
#define NVI (NWG / (NDIMC * VEC))

/* to[k][i] = from[i][k], zero beyond `n` rows and K. */
#define TRANSPOSE(from, to, n, padded)                                                                                 \
    do {                                                                                                               \
        const long at_ = (long)GRP(0) * 64 + LID(0);                                                                   \
        const int k_ = (int)(at_ / (padded)), i_ = (int)(at_ % (padded));                                              \
                                                                                                                       \
        if (k_ < KP)                                                                                                   \
            STORE1((to) + at_, i_ < (n) && k_ < K ? LOAD1((from) + (long)i_ * K + k_) : 0);                            \
    } while (0)

KERNEL WG_SIZE(64, 1, 1) gemm_tiled_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wt)
{
    TRANSPOSE(w, wt, N, NP);
}

KERNEL WG_SIZE(64, 1, 1) gemm_tiled_pack_x(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT xt)
{
    TRANSPOSE(x, xt, M, MP);
}

#if STRM
#define M_OF(i) (((i) / VWM * MDIMC + LID(1)) * VWM + (i) % VWM)
#else
#define M_OF(i) (LID(1) * MWI + (i))
#endif
#if STRN
#define N_OF(v) (((v)*NDIMC + LID(0)) * VEC)
#else
#define N_OF(v) ((LID(0) * NVI + (v)) * VEC)
#endif
#if SA
#define A_AT(k, m) a_tile[(k)*MWG + (m)]
#else
#define A_AT(k, m) LOAD1(a + (long)(kb + (k)) * MP + (m))
#endif
#if SB
#define B_AT(k, n) LOCAL_VLOAD(b_tile + (k)*NWG + (n))
#else
#define B_AT(k, n) VLOAD(b + (long)(kb + (k)) * NP + (n))
#endif

#if SPLIT > 1
KERNEL WG_SIZE(NDIMC, MDIMC, 1) gemm_tiled(GLOBAL const ELEM *RESTRICT xt, GLOBAL const ELEM *RESTRICT wt,
                                           GLOBAL SUM *RESTRICT part)
#else
KERNEL WG_SIZE(NDIMC, MDIMC, 1) gemm_tiled(GLOBAL const ELEM *RESTRICT xt, GLOBAL const ELEM *RESTRICT wt, Y_PARAMS)
#endif
{
    const int id = LID(1) * NDIMC + LID(0), tile = GRP(0) % (MGROUPS * NGROUPS), slice = GRP(0) / (MGROUPS * NGROUPS);
    const int m0 = tile / NGROUPS * MWG, n0 = tile % NGROUPS * NWG;
    GLOBAL const ELEM *a = xt + m0, *b = wt + n0;
#if SA
    LOCAL_ARRAY SUM a_tile[KWG * MWG];
#endif
#if SB
    LOCAL_ARRAY SUM b_tile[KWG * NWG];
#endif
    VT acc[MWI][NVI];

    UNROLL
    for (int i = 0; i < MWI; i++)
        UNROLL
        for (int v = 0; v < NVI; v++)
            acc[i][v] = VSET(0);
    for (int kb = slice * K_PART; kb < slice * K_PART + K_PART; kb += KWG) {
#if SA
        for (int k = id / MDIMA; k < KWG; k += WG / MDIMA)
            for (int m = id % MDIMA * VWM; m < MWG; m += MDIMA * VWM)
                UNROLL
                for (int j = 0; j < VWM; j++)
                    a_tile[k * MWG + m + j] = LOAD1(a + (long)(kb + k) * MP + m + j);
#endif
#if SB
        for (int k = id / NDIMB; k < KWG; k += WG / NDIMB)
            for (int n = id % NDIMB * VEC; n < NWG; n += NDIMB * VEC)
                LOCAL_VSTORE(VLOAD(b + (long)(kb + k) * NP + n), b_tile + k * NWG + n);
#endif
#if SA || SB
        BARRIER();
#endif
        UNROLL_BY(KWI)
        for (int k = 0; k < KWG; k++) {
            VT weights[NVI];

            UNROLL
            for (int v = 0; v < NVI; v++)
                weights[v] = B_AT(k, N_OF(v));
            UNROLL
            for (int i = 0; i < MWI; i++) {
                const VT value = VSET(A_AT(k, M_OF(i)));

                UNROLL
                for (int v = 0; v < NVI; v++)
                    acc[i][v] = VFMA(value, weights[v], acc[i][v]);
            }
        }
#if SA || SB
        BARRIER();
#endif
    }
    UNROLL
    for (int i = 0; i < MWI; i++) {
        const int m = m0 + M_OF(i);

        UNROLL
        for (int v = 0; v < NVI; v++) {
            const int n = n0 + N_OF(v);
            SUM out[VEC];

            PRIVATE_VSTORE(acc[i][v], out);
            for (int j = 0; j < VEC && m < M && n + j < N; j++)
#if SPLIT > 1
                part[((long)slice * M + m) * N + n + j] = out[j];
#else
                STORE_Y((long)m * N + n + j, n + j, out[j]);
#endif
        }
    }
}

#if SPLIT > 1
KERNEL WG_SIZE(64, 1, 1) gemm_tiled_add(GLOBAL const SUM *RESTRICT part, Y_PARAMS)
{
    const long i = (long)GRP(0) * 64 + LID(0);
    SUM sum = 0;

    if (i >= (long)M * N)
        return;
    for (int slice = 0; slice < SPLIT; slice++)
        sum += part[(long)slice * M * N + i];
    STORE_Y(i, i % N, sum);
}
#endif
