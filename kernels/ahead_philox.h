/* Philox4x32-10 pattern draws, several at a time, for the Cython kernels. A C compiler left to itself finds neither the
 * widening multiplication nor the layout (a 32-bit word in each 64-bit lane, upper half ignored) that makes a round
 * eight instructions. */
#ifndef SPARE_MC_AHEAD_PHILOX_H
#define SPARE_MC_AHEAD_PHILOX_H

#include "ahead_lanes.h"

typedef uint64_t spare_vector __attribute__((vector_size(8 * SPARE_WIDTH)));
/* The same in memory, at any address and beside any other type (memcpy makes GCC go through the stack). */
typedef spare_vector spare_unaligned __attribute__((aligned(1), may_alias));

/* The ten round keys in every lane. */
typedef struct {
    spare_vector k0[10], k1[10];
} spare_schedule;

static inline spare_vector spare_all(uint64_t x) { return x - (spare_vector){0}; }

/* Products of the low 32 bits. */
static inline spare_vector spare_times(spare_vector a, spare_vector b)
{
#if defined(__AVX2__)
    return (spare_vector)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (spare_vector)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

static inline void spare_schedule_keys(spare_schedule *keys, uint32_t k0, uint32_t k1)
{
    for (int i = 0; i < 10; i++) {
        keys->k0[i] = spare_all((uint32_t)(k0 + i * 0x9E3779B9u));
        keys->k1[i] = spare_all((uint32_t)(k1 + i * 0xBB67AE85u));
    }
}

/* The rounds from `first` on, of two counters in step: one chain alone waits for its own multiplications. */
static inline void spare_rounds(spare_vector c[2][4], const spare_schedule *keys, int first)
{
    const spare_vector m0 = spare_all(0xD2511F53u), m1 = spare_all(0xCD9E8D57u);
    spare_vector a0 = c[0][0], a1 = c[0][1], a2 = c[0][2], a3 = c[0][3];
    spare_vector b0 = c[1][0], b1 = c[1][1], b2 = c[1][2], b3 = c[1][3];
#pragma GCC unroll 10
    for (int i = first; i < 10; i++) {
        const spare_vector p0 = spare_times(a0, m0), q0 = spare_times(b0, m0);
        const spare_vector p1 = spare_times(a2, m1), q1 = spare_times(b2, m1);
        a0 = (p1 >> 32) ^ (a1 ^ keys->k0[i]);
        b0 = (q1 >> 32) ^ (b1 ^ keys->k0[i]);
        a2 = (p0 >> 32) ^ (a3 ^ keys->k1[i]);
        b2 = (q0 >> 32) ^ (b3 ^ keys->k1[i]);
        a1 = p1, b1 = q1, a3 = p0, b3 = q0;
    }
    c[0][0] = a0, c[0][1] = a1, c[0][2] = a2, c[0][3] = a3;
    c[1][0] = b0, c[1][1] = b1, c[1][2] = b2, c[1][3] = b3;
}

/* out[4 w + k]: bits 16..31 of lane w of v[k], less 32,768. */
static inline void spare_pack(int16_t *out, spare_vector v0, spare_vector v1, spare_vector v2, spare_vector v3)
{
    const spare_vector low = spare_all(0xFFFFFFFFu), halves = spare_all(0x0000FFFF0000FFFFu);
    const spare_vector even = (v0 & low) | (v2 << 32), odd = (v1 & low) | (v3 << 32);
    const spare_vector packed = (((even >> 16) & halves) | (odd & ~halves)) ^ spare_all(0x8000800080008000u);
    *(spare_unaligned *)out = packed;
}

/* What depends on the trial alone in the first two rounds, for 16 trials side by side: vectors in groups of four,
 * lane w of vector k of a group for its trial 4 w + k. */
typedef struct {
    spare_vector c1[16 / SPARE_WIDTH], p0[16 / SPARE_WIDTH];
} spare_trials;

static inline void spare_start_trials(spare_trials *part, uint64_t trial, uint32_t k0)
{
    for (int lane = 0; lane < 16; lane++) {
        const int group = lane / (4 * SPARE_WIDTH), w = lane / 4 % SPARE_WIDTH, k = lane % 4;
        const uint64_t p1 = ((trial + lane) & 0xFFFFFFFFu) * 0xCD9E8D57u;
        part->c1[4 * group + k][w] = p1 & 0xFFFFFFFFu;
        part->p0[4 * group + k][w] = ((p1 >> 32) ^ k0) * 0xD2511F53u;
    }
}

/* One draw of 16 trials that share their high 32 bits (`high`): upper halves to out[16 word + i]. */
static inline void spare_draw_of_trials(int16_t *out, const spare_trials *part, uint64_t draw, uint64_t high,
                                        const spare_schedule *keys)
{
    const uint64_t q0 = draw * 0xD2511F53u, q1 = ((q0 >> 32) ^ high ^ keys->k1[0][0]) * 0xCD9E8D57u;
    const spare_vector c0 = spare_all((q1 >> 32) ^ keys->k0[1][0]), c1 = spare_all(q1 & 0xFFFFFFFFu);
    const spare_vector c2 = spare_all((q0 & 0xFFFFFFFFu) ^ keys->k1[1][0]);
    for (int group = 0; group < 4 / SPARE_WIDTH; group++) {
        spare_vector c[4][4];
        for (int k = 0; k < 4; k++) {
            const spare_vector p0 = part->p0[4 * group + k];
            c[k][0] = part->c1[4 * group + k] ^ c0;
            c[k][1] = c1;
            c[k][2] = (p0 >> 32) ^ c2;
            c[k][3] = p0;
        }
        spare_rounds(c, keys, 2);
        spare_rounds(c + 2, keys, 2);
        for (int word = 0; word < 4; word++)
            spare_pack(out + 16 * word + 4 * SPARE_WIDTH * group, c[0][word], c[1][word], c[2][word], c[3][word]);
    }
}

/* 4 * SPARE_WIDTH draws of one trial, from `draw` on. In the first two rounds half of the products are the same for
 * every draw. */
static inline void spare_draws(spare_vector c[4][4], uint64_t draw, uint64_t trial, const spare_schedule *keys)
{
#ifdef __AVX2__
    const spare_vector steps = {0, 1, 2, 3};
#else
    const spare_vector steps = {0, 1};
#endif
    const spare_vector m0 = spare_all(0xD2511F53u), m1 = spare_all(0xCD9E8D57u);
    const uint64_t p1 = (trial & 0xFFFFFFFFu) * 0xCD9E8D57u, q0 = ((p1 >> 32) ^ keys->k0[0][0]) * 0xD2511F53u;
    const spare_vector high = spare_all((trial >> 32) ^ keys->k1[0][0]);
    const spare_vector c0 = spare_all((p1 & 0xFFFFFFFFu) ^ keys->k0[1][0]), c2 = spare_all((q0 >> 32) ^ keys->k1[1][0]);
    for (int k = 0; k < 4; k++) {
        const spare_vector p0 = spare_times(spare_all(draw + SPARE_WIDTH * k) + steps, m0);
        const spare_vector q1 = spare_times((p0 >> 32) ^ high, m1);
        c[k][0] = (q1 >> 32) ^ c0;
        c[k][1] = q1;
        c[k][2] = p0 ^ c2;
        c[k][3] = spare_all(q0);
    }
    spare_rounds(c, keys, 2);
    spare_rounds(c + 2, keys, 2);
}

/* 16 draws of one trial: upper halves to out[64]. */
static inline void spare_draws_packed(int16_t *out, uint64_t draw, uint64_t trial, const spare_schedule *keys)
{
    spare_vector c[4][4];
    for (int at = 0; at < 16; at += 4 * SPARE_WIDTH) {
        spare_draws(c, draw + at, trial, keys);
        for (int k = 0; k < 4; k++)
            spare_pack(out + 4 * (at + SPARE_WIDTH * k), c[k][0], c[k][1], c[k][2], c[k][3]);
    }
}

/* 16 draws of one trial: full keys to out[64]. */
static inline void spare_draws_full(uint32_t *out, uint64_t draw, uint64_t trial, const spare_schedule *keys)
{
    const spare_vector low = spare_all(0xFFFFFFFFu);
    spare_vector c[4][4];
    for (int at = 0; at < 16; at += 4 * SPARE_WIDTH) {
        spare_draws(c, draw + at, trial, keys);
        for (int k = 0; k < 4; k++) {
            const spare_vector front = (c[k][0] & low) | (c[k][1] << 32), back = (c[k][2] & low) | (c[k][3] << 32);
            for (int w = 0; w < SPARE_WIDTH; w++) {
                const uint64_t pair[2] = {front[w], back[w]};
                memcpy(out + 4 * (at + SPARE_WIDTH * k + w), pair, sizeof pair);
            }
        }
    }
}

#endif
