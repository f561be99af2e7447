/* gemm_direct.cl - y[m,n] = sum over k of x[m,k] * w[n,k], f32 f16, all epilogues, row-major, any size, no packing: tiles of x and w go through
 * local memory, transposed to k first.
 * Knobs: WGD tile of a group along m, n and k; MDIMCD NDIMCD its work-items along m and n; MDIMAD NDIMBD items along k while
 * loading x and w; KWID unroll along k; VWMD VWND consecutive elements an item loads of x and w; VEC lanes of arithmetic along
 * n; PADA PADB extra column of the local tiles.
 * Launch: local (NDIMCD, MDIMCD, 1); groups (ceil(N / WGD), ceil(M / WGD), 1). */
#ifndef M
#define M 4
#define N 8
#define K 16
#endif
#ifndef WGD
#define WGD 8
#define MDIMCD 2
#define NDIMCD 2
#define MDIMAD 2
#define NDIMBD 2
#define KWID 2
#define VWMD 1
#define VWND 1
#define PADA 0
#define PADB 0
#endif

#define WG (MDIMCD * NDIMCD)
#define MWI (WGD / MDIMCD)
#define NVI (WGD / (NDIMCD * VEC))
#define LDA (WGD + PADA)
#define LDB (WGD + PADB)

KERNEL WG_SIZE(NDIMCD, MDIMCD, 1) gemm_direct(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w,
                                              Y_PARAMS)
{
    LOCAL_ARRAY SUM a_tile[WGD * LDA];
    LOCAL_ARRAY SUM b_tile[WGD * LDB];
    const int id = LID(1) * NDIMCD + LID(0), m0 = GRP(1) * WGD, n0 = GRP(0) * WGD;
    VT acc[MWI][NVI];

    UNROLL
    for (int i = 0; i < MWI; i++)
        UNROLL
        for (int v = 0; v < NVI; v++)
            acc[i][v] = VSET(0);
    for (int k0 = 0; k0 < K; k0 += WGD) {
        for (int row = id / MDIMAD; row < WGD; row += WG / MDIMAD)
            for (int column = id % MDIMAD * VWMD; column < WGD; column += MDIMAD * VWMD)
                UNROLL
                for (int j = 0; j < VWMD; j++) {
                    const int m = m0 + row, k = k0 + column + j;

                    a_tile[(column + j) * LDA + row] = m < M && k < K ? LOAD1(x + (long)m * K + k) : 0;
                }
        for (int row = id / NDIMBD; row < WGD; row += WG / NDIMBD)
            for (int column = id % NDIMBD * VWND; column < WGD; column += NDIMBD * VWND)
                UNROLL
                for (int j = 0; j < VWND; j++) {
                    const int n = n0 + row, k = k0 + column + j;

                    b_tile[(column + j) * LDB + row] = n < N && k < K ? LOAD1(w + (long)n * K + k) : 0;
                }
        BARRIER();
        UNROLL_BY(KWID)
        for (int k = 0; k < WGD; k++) {
            VT weights[NVI];

            UNROLL
            for (int v = 0; v < NVI; v++)
                weights[v] = LOCAL_VLOAD(b_tile + k * LDB + (LID(0) * NVI + v) * VEC);
            UNROLL
            for (int i = 0; i < MWI; i++) {
                const VT value = VSET(a_tile[k * LDA + LID(1) * MWI + i]);

                UNROLL
                for (int v = 0; v < NVI; v++)
                    acc[i][v] = VFMA(value, weights[v], acc[i][v]);
            }
        }
        BARRIER();
    }
    UNROLL
    for (int i = 0; i < MWI; i++) {
        const int m = m0 + LID(1) * MWI + i;

        UNROLL
        for (int v = 0; v < NVI; v++) {
            const int n = n0 + (LID(0) * NVI + v) * VEC;
            SUM out[VEC];

            PRIVATE_VSTORE(acc[i][v], out);
            for (int j = 0; j < VEC && m < M && n + j < N; j++)
                STORE_Y((long)m * N + n + j, n + j, out[j]);
        }
    }
}
