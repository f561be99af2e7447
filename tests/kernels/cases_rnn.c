/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define LSTM "rnn f32 i=5 h=7 b=6 t=4"
#define GRU "rnn f32 cell=gru i=5 h=7 l=2 b=6 t=4"
#define RESET "rnn f32 cell=gru_reset i=5 h=7 l=2 b=6 t=4"
#define BACK "rnn f32 pass=bwd_data i=5 h=7 b=6 t=4"
#define BACK_GRU "rnn f32 cell=gru pass=bwd_data i=5 h=7 l=2 b=6 t=4"
#define GRADIENT "rnn f32 cell=gru pass=bwd_weight i=5 h=7 l=2 b=6 t=4"

/* One launch a layer, whose groups wait for one another. */
#define PERSIST(wg)                                                                                                    \
    "comb_gate=1 streams=1 fuse_pw=2 pretrans=1 comb_in=65536 wave=0 persist=1 concat_xh=0 vec=1 g_in_mr=1 g_in_nv=1 " \
    "g_in_ku=1 g_in_order=0 g_in_tn=1 g_rec_mr=4 g_rec_nv=1 g_rec_ku=1 g_rec_tn=1 g_rec_ks=1 kt=8 pf=0 wg=" wg

#define RAGGED "rnn f32 i=3 h=9 b=4 t=6"

/* Sixteen work-items a group, one output each. */
#define PLAIN(tiles)                                                                                                   \
    "comb_gate=1 streams=1 fuse_pw=2 pretrans=1 comb_in=2 wave=0 persist=0 concat_xh=0 vec=1 g_in_mr=1 g_in_nv=1 "     \
    "g_in_ku=1 g_in_order=0 " tiles " g_rec_ks=1 kt=8 pf=0 wg=16"

static const char *const shapes[] = {
    LSTM,
    "rnn f32 i=16 h=16 l=2 b=16 t=3",
    "rnn f32 i=3 h=5 l=3 b=1 t=6", /* one column */
    "rnn f32 i=1 h=1 b=1 t=1",     /* tiny */
    "rnn f32 i=3 h=4 l=4 b=2 t=2", /* layers behind the one above the first */
    "rnn f32 i=9 h=77 b=1 t=3",    /* several panels of units, a tail */
    "rnn f32 i=4 h=50 l=2 b=2 t=3",
    "rnn f32 cell=gru i=3 h=37 b=3 t=4",
    GRU,
    "rnn f32 cell=gru i=9 h=4 b=12 t=3",
    RESET,
    "rnn f32 cell=gru_reset i=3 h=77 b=1 t=3",
    "rnn f32 cell=gru_reset i=4 h=50 l=2 b=3 t=3",
    "rnn f32 cell=tanh i=11 h=6 b=8 t=5",
    "rnn f32 cell=tanh i=6 h=13 l=2 b=4 t=3",
    "rnn f32 cell=relu i=4 h=3 b=8 t=3", /* whole numbers stay exact */
    "rnn f32 cell=relu i=7 h=9 l=2 b=5 t=5",
    BACK,
    "rnn f32 pass=bwd_data i=9 h=5 l=2 b=4 t=3",
    BACK_GRU,
    "rnn f32 cell=gru pass=bwd_data i=16 h=16 b=16 t=3",
    "rnn f32 cell=tanh pass=bwd_data i=3 h=11 b=2 t=6",
    "rnn f32 cell=tanh pass=bwd_data i=4 h=6 l=2 b=16 t=2",
    "rnn f32 cell=relu pass=bwd_data i=3 h=7 b=3 t=5",
    "rnn f32 cell=relu pass=bwd_data i=12 h=7 l=4 b=8 t=4",
    "rnn f32 pass=bwd_weight i=17 h=5 b=6 t=4",
    "rnn f32 pass=bwd_weight i=16 h=32 l=2 b=16 t=5",
    GRADIENT,
    "rnn f32 cell=gru pass=bwd_weight i=20 h=33 b=4 t=2",
    "rnn f32 cell=tanh pass=bwd_weight i=5 h=9 b=3 t=7",
    "rnn f32 cell=tanh pass=bwd_weight i=5 h=18 l=2 b=8 t=3",
    "rnn f32 cell=relu pass=bwd_weight i=6 h=7 b=5 t=3",
    "rnn f32 cell=relu pass=bwd_weight i=3 h=4 l=4 b=2 t=2",
    "rnn f16 i=6 h=8 l=2 b=8 t=4",
    "rnn f16 cell=gru_reset i=6 h=9 b=4 t=4",
    "rnn f16 cell=gru pass=bwd_data i=5 h=6 b=4 t=3",
    "rnn f16 cell=tanh pass=bwd_weight i=5 h=7 l=2 b=6 t=4",
    NULL,
};

static const struct mutant mutants[] = {
    {"rnn/naive", LSTM, "missing last term", "k < n_k", "k < n_k - 1"},
    {"rnn/naive", LSTM, "gates swapped", "VADD(zx[0], zh[0]), VADD(zx[1], zh[1])",
     "VADD(zx[1], zh[1]), VADD(zx[0], zh[0])"},
    {"rnn/naive", LSTM, "wrong step before", "(long)(t - 1) * STATE", "(long)t * STATE"},
    {"rnn/naive", BACK, "wrong order of steps", "t = SIZE_T - 1 - back", "t = back"},
    {"rnn/naive", LSTM, "unguarded tail", "item >= STATE", "item < 0"},
    {"rnn/naive", BACK_GRU, "candidate's gradient for the state's", "d + 3 * STATE", "d + 2 * STATE"},
    {"rnn/naive", GRADIENT, "state of the same step", "t - before", "t"},
    {"rnn/naive", LSTM, "uninitialised accumulator", "VT sum = VSET(0.0f);", "VT sum = VLOAD(a);"},
    {"rnn/naive", RESET, "the state where it is to be reset", "GRU_RESET && g == 2 ? c0 + column : h", "h"},
    {"rnn/naive", RESET, "reset by the other gate", "w_layer * GATES * SIZE_H + j) * width",
     "w_layer * GATES * SIZE_H + SIZE_H + j) * width"},
    {"rnn/plan", LSTM, "missing last term", "#define REC_K (BACK ? ROWS : SIZE_H)",
     "#define REC_K (BACK ? ROWS : SIZE_H - 1)"},
    {"rnn/plan", LSTM, "gates swapped", "put_cell(GATE(0), GATE(1)", "put_cell(GATE(1), GATE(0)"},
    {"rnn/plan", GRU, "wrong step before", "(long)(t - 1) * STATE + column", "(long)t * STATE + column"},
    {"rnn/plan", BACK, "wrong order of steps", "t = SIZE_T - 1 - past", "t = past"},
    {"rnn/plan", "rnn f32 i=5 h=7 b=6 t=6", "unguarded tail", "chunk * COMB_IN + j < SIZE_T", "j < SIZE_T"},
    {"rnn/plan", BACK_GRU, "candidate's gradient for the state's", "2 * SIZE_H ? SIZE_H : 0", "2 * SIZE_H ? 0 : 0"},
    {"rnn/plan", LSTM, "uninitialised accumulator", "GEMM_ZERO(acc, G_REC_MR)",
     "GEMM_ZERO(acc, G_REC_MR) acc[0][0] = VLOAD(y);"},
    {"rnn/plan", "rnn f32 i=3 h=8 b=4 t=6", "groups that do not wait for others",
     "GRID_BARRIER(arrived, (past + 1) * REC_ITEMS);", "", "cooperative", PERSIST("4")},
    {"rnn/plan", RAGGED, "units computed twice", "UNIT(u) >= tile * REC_HB", "1", "cooperative", PERSIST("4")},
    {"rnn/plan", RAGGED, "panel not filled up", "i < REC_K * REC_MR ? from[i] : 0.0f", "from[i]", "cooperative",
     PERSIST("4")},
    {"rnn/plan", "rnn f32 i=3 h=16 b=16 t=3", "pieces behind the last", "if (e_ < KT * TILE_ROWS) ", "if (1) ", "dp4a",
     PLAIN("g_in_tn=16 g_rec_mr=4 g_rec_nv=1 g_rec_ku=1 g_rec_tn=16")},
    {"rnn/plan", "rnn f32 i=3 h=32 b=4 t=3", "pieces behind the last", "if (e_ < KT * TILE_COLUMNS / VEC)     ",
     "if (1)     ", "cooperative", PERSIST("16")},
    {"rnn/lanes", LSTM, "missing last term", "k < SIZE_H; k++) {\n        SUM value[COLS]",
     "k < SIZE_H - 1; k++) {\n        SUM value[COLS]"},
    {"rnn/lanes", LSTM, "gates swapped", "lstm_cell(z[0], z[NV]", "lstm_cell(z[NV], z[0]"},
    {"rnn/lanes", GRU, "wrong step before", "value[i] = HELD(t % 2", "value[i] = HELD(0"},
    {"rnn/lanes", GRU, "recurrent bias of the candidate with the inputs'", "#define APART(g) (GRU && (g) == 2)",
     "#define APART(g) (GRU && (g) == 3)"},
    {"rnn/lanes", RESET, "the state where it is to be reset", "panel, column, 2);", "panel, column, t % 2);"},
    {"rnn/lanes", "rnn f32 cell=gru_reset i=3 h=77 b=1 t=3", "one panel's state is reset",
     "panel * UNITS + v * VEC;\n\n            SUM_VSTORE", "v * VEC;\n\n            SUM_VSTORE"},
    {"rnn/lanes", "rnn f32 i=9 h=77 b=1 t=3", "unguarded tail", "unit + j < SIZE_H", "unit + j < PADDED"},
    {"rnn/lanes", "rnn f32 i=4 h=50 l=2 b=2 t=3", "the upper layer reads x",
     "layer ? hidden + (long)(layer - 1) * SIZE_T * STATE : x", "x"},
    {"rnn/lanes", LSTM, "uninitialised accumulator", "SUM_VLOAD(b + v * VEC);\n    }",
     "SUM_VLOAD(zx + v * VEC);\n    }"},
    {"rnn/wgrad", GRADIENT, "missing last term", "GEMM_RUN(acc, MR, n_k)", "GEMM_RUN(acc, MR, n_k - 1)"},
    {"rnn/wgrad", GRADIENT, "candidate's gradient for the state's", "? SIZE_H : 0", "? 0 : 0"},
    {"rnn/wgrad", GRADIENT, "state of the same step", "t - before", "t"},
    {"rnn/wgrad", GRADIENT, "unguarded tail", "column < width; column++", "column < width + 1; column++"},
    {"rnn/wgrad", GRADIENT, "uninitialised accumulator", "VSET(0.0f)", "SUM_VLOAD(to)"},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct rare_config configs[] = {
    {"rnn/plan", BACK,
     "comb_gate=1 streams=1 fuse_pw=2 pretrans=1 comb_in=2 wave=0 persist=0 concat_xh=0 vec=1 g_in_mr=1 g_in_nv=1 "
     "g_in_ku=4 g_in_order=0 g_in_tn=1 g_rec_mr=1 g_rec_nv=1 g_rec_ku=4 g_rec_tn=1 g_rec_ks=1 kt=16 pf=0 wg=4",
     "dp4a"}, /* the cell's gradient from one chunk of steps to the next */
    {"rnn/plan", "rnn f32 i=3 h=4 l=2 b=4 t=5",
     "comb_gate=1 streams=1 fuse_pw=0 pretrans=1 comb_in=2 wave=1 persist=0 concat_xh=0 vec=1 g_in_mr=1 g_in_nv=1 "
     "g_in_ku=1 g_in_order=0 g_in_tn=1 g_rec_mr=1 g_rec_nv=1 g_rec_ku=1 g_rec_tn=1 g_rec_ks=1 kt=8 pf=0 wg=4",
     "dp4a"}, /* several layers at once, each with sums and temporaries of its own */
    {"rnn/plan", "rnn f32 cell=gru i=3 h=4 l=2 b=4 t=5",
     "comb_gate=1 streams=1 fuse_pw=1 pretrans=1 comb_in=2 wave=1 persist=0 concat_xh=0 vec=1 g_in_mr=1 g_in_nv=1 "
     "g_in_ku=1 g_in_order=0 g_in_tn=1 g_rec_mr=1 g_rec_nv=1 g_rec_ku=1 g_rec_tn=1 g_rec_ks=1 kt=8 pf=0 wg=4",
     "dp4a"}, /* the same, of one launch for the cell */
    {"rnn/wgrad", "rnn f32 cell=tanh pass=bwd_weight i=3 h=4 b=2 t=70",
     "vec=4 mr=4 nv=1 ku=2 kc=64 stacked=1 pf=0 wg=1"}, /* more than two blocks of k */
    {"rnn/plan", "rnn f32 i=3 h=8 b=4 t=6", PERSIST("4"), "cooperative"},
    {NULL, NULL, NULL},
};

const struct cases cases_rnn = {shapes, mutants, configs};
