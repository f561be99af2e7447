/* gemm_packed.cl - y[m,n] = sum over k of x[m,k] * w[n,k], f32 f16, all epilogues, row-major, for CPUs.
 * One work-item computes TILES tiles of MR rows x NT panels of NR = NV*VEC columns, a tile at a time in vector registers; k in
 * blocks of KC, partial sums in local memory. Weights are packed at load: wp[k/KC][n/NR][k%KC][n%NR], so that they stream; while
 * a panel is used, the next one is asked for. x is read in place (PX 0), from a copy with rows of odd numbers of cache lines
 * (PX 1, a launch of the timed run), or so copied by each work-item into local memory (PX 2).
 * Knobs: VEC lanes; MR rows; NV vectors; KC block of k; KU unroll; TILES; NT; ORDER of work-items 0: m fastest, 1: n fastest;
 * PX; PF 1: prefetch the next panel.
 * Launch: local (1, 1, 1); groups (ceil(M / (MR*TILES)) * ceil(ceil(N / NR) / NT), 1, 1). */
#ifndef M
#define M 4
#define N 8
#define K 16
#endif
#ifndef MR
#define MR 4
#define NV 1
#define KC 16777216
#define KU 1
#define TILES 1
#define NT 1
#define ORDER 0
#define PX 0
#define PF 1
#endif

#define NR (NV * VEC)
#define PANELS CEIL_DIV(N, NR)
#define MGROUPS CEIL_DIV(M, MR *TILES)
#define NPANELS (NT < PANELS ? NT : PANELS) /* of a work-item */
#define NGROUPS CEIL_DIV(PANELS, NPANELS)
#define KB (KC < K ? KC : K) /* the longest block */
#define ODD_LINES(n) ((CEIL_DIV(n, 16) | 1) * 16)
#define KSTEP 64

KERNEL WG_SIZE(1, 1, 1) gemm_packed_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wp)
{
    const int panel = GRP(0), k0 = GRP(1) * KSTEP;

    for (int i = 0; i < NR; i++) {
        const int n = panel * NR + i;

        for (int k = k0; k < k0 + KSTEP && k < K; k++) {
            const int kb = k / KB * KB, n_k = K - kb < KB ? K - kb : KB;

            STORE1(wp + ((long)kb * PANELS + (long)panel * n_k + (k - kb)) * NR + i,
                   n < N ? LOAD1(w + (long)n * K + k) : 0);
        }
    }
}

/* A row of x, or a block of it, in SUMs. */
#define COPY_ROW(from, to, n_k, STORE)                                                                                 \
    do {                                                                                                               \
        int k_ = 0;                                                                                                    \
                                                                                                                       \
        for (; k_ + VEC <= (n_k); k_ += VEC)                                                                           \
            STORE(VLOAD((from) + k_), (to) + k_);                                                                      \
        for (; k_ < (n_k); k_++)                                                                                       \
            (to)[k_] = LOAD1((from) + k_);                                                                             \
    } while (0)

KERNEL WG_SIZE(1, 1, 1) gemm_packed_copy_x(GLOBAL const ELEM *RESTRICT x, GLOBAL SUM *RESTRICT xp)
{
    GLOBAL const ELEM *from = x + (long)GRP(0) * K;
    GLOBAL SUM *to = xp + (long)GRP(0) * ODD_LINES(K);

    COPY_ROW(from, to, K, SUM_VSTORE);
}

#if PX == 0
#define X_ELEM GLOBAL const ELEM
#define X_STRIDE K
#define GEMM_A(i, k) LOAD1(a + (i)*X_STRIDE + (k))
#elif PX == 1
#define X_ELEM GLOBAL const SUM
#define X_STRIDE ODD_LINES(K)
#define GEMM_A(i, k) a[(i)*X_STRIDE + (k)]
#else
#define X_ELEM GLOBAL const ELEM
#define X_STRIDE ODD_LINES(KB)
#define GEMM_A(i, k) a[(i)*X_STRIDE + (k)]
#endif
#define GEMM_B(k, v) VLOAD(b + (k)*NR + (v)*VEC)
#if PF
#define AHEAD CEIL_DIV(NR, TILES) /* elements of the next panel to ask for at each k */
#define LINE (64 / (int)sizeof(ELEM))
#define GEMM_AHEAD(k)                                                                                                  \
    UNROLL                                                                                                             \
    for (int j_ = 0; j_ < AHEAD; j_ += LINE)                                                                           \
        PREFETCH2(ahead + (k)*AHEAD + j_)
#endif

#include "gemm/micro.clh"

/* VEC sums of row m, from column n on; those of the columns there are. */
#if N % VEC == 0
#define PUT(m, n, v) STORE_YK((long)(m)*N + (n), n, v)
#else
#define PUT(m, n, v)                                                                                                   \
    do {                                                                                                               \
        SUM out_[VEC];                                                                                                 \
                                                                                                                       \
        if ((n) + VEC <= N) {                                                                                          \
            STORE_YK((long)(m)*N + (n), n, v);                                                                         \
        } else {                                                                                                       \
            PRIVATE_VSTORE(v, out_);                                                                                   \
            for (int j_ = 0; (n) + j_ < N; j_++)                                                                       \
                STORE_Y((long)(m)*N + (n) + j_, (n) + j_, out_[j_]);                                                   \
        }                                                                                                              \
    } while (0)
#endif

/* x is xp when PX == 1. Rows of a last tile that there are not: with PX 2 the last row again, else the tile begins
 * earlier. */
KERNEL WG_SIZE(1, 1, 1) gemm_packed(X_ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT wp, Y_PARAMS)
{
#if PX == 2
    LOCAL_ARRAY SUM rows[MR * TILES * X_STRIDE];
#endif
#if KC < K
    LOCAL_ARRAY SUM sums[NPANELS * TILES * MR * NR];
#endif
#if ORDER == 0
    const int m0 = GRP(0) % MGROUPS * TILES * MR, panel0 = GRP(0) / MGROUPS * NPANELS;
#else
    const int m0 = GRP(0) / NGROUPS * TILES * MR, panel0 = GRP(0) % NGROUPS * NPANELS;
#endif
    const int m_end = m0 + TILES * MR < M ? m0 + TILES * MR : M, n_panels = PANELS - panel0 < NPANELS ? PANELS - panel0 : NPANELS;

    for (int kb = 0; kb < K; kb += KB) {
        const int n_k = K - kb < KB ? K - kb : KB;

#if PX == 2
        for (int i = 0; i < CEIL_DIV(m_end - m0, MR) * MR; i++) {
            GLOBAL const ELEM *from = x + (long)(m0 + i < M ? m0 + i : M - 1) * K + kb;

            COPY_ROW(from, rows + i * X_STRIDE, n_k, LOCAL_VSTORE);
        }
#endif
        for (int panel = 0; panel < n_panels; panel++) {
            GLOBAL const ELEM *b = wp + ((long)kb * PANELS + (long)(panel0 + panel) * n_k) * NR;

            for (int tile = 0; tile * MR < m_end - m0; tile++) {
                const int m = m0 + tile * MR, n = (panel0 + panel) * NR;
#if PF
                GLOBAL const ELEM *ahead = b + n_k * (NR + tile * AHEAD);
#endif
#if PX == 2
                LOCAL const SUM *a = rows + tile * MR * X_STRIDE;
                const int row0 = m;
#else
                const int row0 = m < M - MR ? m : M - MR;
                X_ELEM *a = x + (long)row0 * X_STRIDE + kb;
#endif
                VT acc[MR][NV];

#if KC < K
                LOCAL SUM *partial = sums + (panel * TILES + tile) * MR * NR;

                UNROLL
                for (int i = 0; i < MR; i++)
                    UNROLL
                    for (int v = 0; v < NV; v++)
                        acc[i][v] = kb ? LOCAL_VLOAD(partial + i * NR + v * VEC) : VSET(0);
#else
                GEMM_ZERO(acc, MR)
#endif
                GEMM_RUN(acc, MR, n_k);
#if KC < K
                if (kb + KB < K) {
                    UNROLL
                    for (int i = 0; i < MR; i++)
                        UNROLL
                        for (int v = 0; v < NV; v++)
                            LOCAL_VSTORE(acc[i][v], partial + i * NR + v * VEC);
                    continue;
                }
#endif
                UNROLL
                for (int i = 0; i < MR; i++) {
                    if (M % MR && (row0 + i < m || row0 + i >= M))
                        continue;
                    UNROLL
                    for (int v = 0; v < NV; v++)
                        if (N % NR == 0 || n + v * VEC < N)
                            PUT(row0 + i, n + v * VEC, acc[i][v]);
                }
            }
        }
    }
}
