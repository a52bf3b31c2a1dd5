/* Vectors for ahead.pyx: 16 lanes of int16 as a value, and Philox pattern draws. A C compiler left to itself keeps
 * maxima in memory, and finds neither the widening multiplication nor the layout (a 32-bit word in each 64-bit
 * lane, upper half ignored) that makes a round of Philox eight instructions.
 *
 * GCC and Clang vector extensions; a compiler without them leaves the package without this optional backend. The
 * width follows the compiler's target: 4 counters where it allows AVX2, otherwise 2. */
#ifndef SPARE_MC_AHEAD_LANES_H
#define SPARE_MC_AHEAD_LANES_H

#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#ifdef __AVX2__
#define SPARE_WIDTH 4
#else
#define SPARE_WIDTH 2
#endif

typedef uint64_t spare_vector __attribute__((vector_size(8 * SPARE_WIDTH)));
/* The same in memory, at any address and beside any other type (memcpy makes GCC go through the stack). */
typedef spare_vector spare_unaligned __attribute__((aligned(1), may_alias));

/* ---- 16 lanes of int16 ---------------------------------------------------------------------------------- */

#define SPARE_PARTS (4 / SPARE_WIDTH)

typedef int16_t spare_part __attribute__((vector_size(8 * SPARE_WIDTH)));

typedef spare_part spare_unaligned_part __attribute__((aligned(1), may_alias));

typedef struct {
    spare_part part[SPARE_PARTS];
} spare_lanes;

static inline spare_lanes spare_load(const int16_t *from)
{
    spare_lanes v;
    for (int i = 0; i < SPARE_PARTS; i++)
        v.part[i] = ((const spare_unaligned_part *)from)[i];
    return v;
}

static inline void spare_store(int16_t *to, spare_lanes v)
{
    for (int i = 0; i < SPARE_PARTS; i++)
        ((spare_unaligned_part *)to)[i] = v.part[i];
}

static inline spare_lanes spare_splat(int16_t x)
{
    spare_lanes v;
    for (int i = 0; i < SPARE_PARTS; i++)
        v.part[i] = x - (spare_part){0};
    return v;
}

static inline spare_lanes spare_max(spare_lanes a, spare_lanes b)
{
    for (int i = 0; i < SPARE_PARTS; i++) {
#if defined(__AVX2__)
        a.part[i] = (spare_part)_mm256_max_epi16((__m256i)a.part[i], (__m256i)b.part[i]);
#elif defined(__SSE2__)
        a.part[i] = (spare_part)_mm_max_epi16((__m128i)a.part[i], (__m128i)b.part[i]);
#else
        const spare_part greater = a.part[i] > b.part[i];
        a.part[i] = (a.part[i] & greater) | (b.part[i] & ~greater);
#endif
    }
    return a;
}

static inline spare_lanes spare_min(spare_lanes a, spare_lanes b)
{
    for (int i = 0; i < SPARE_PARTS; i++)
        a.part[i] = ~a.part[i], b.part[i] = ~b.part[i];
    a = spare_max(a, b);
    for (int i = 0; i < SPARE_PARTS; i++)
        a.part[i] = ~a.part[i];
    return a;
}

/* One added in each lane where a < b, or where they are equal. */
static inline spare_lanes spare_tally_below(spare_lanes tally, spare_lanes a, spare_lanes b)
{
    for (int i = 0; i < SPARE_PARTS; i++)
        tally.part[i] -= a.part[i] < b.part[i];
    return tally;
}

static inline spare_lanes spare_tally_equal(spare_lanes tally, spare_lanes a, spare_lanes b)
{
    for (int i = 0; i < SPARE_PARTS; i++)
        tally.part[i] -= a.part[i] == b.part[i];
    return tally;
}

/* Bit i: whether lane i of `flags` (0 or -1) is set. */
static inline uint32_t spare_bits(spare_lanes flags)
{
#ifdef __SSE2__
#ifdef __AVX2__
    const __m256i both = (__m256i)flags.part[0];
    const __m128i front = _mm256_castsi256_si128(both), back = _mm256_extracti128_si256(both, 1);
#else
    const __m128i front = (__m128i)flags.part[0], back = (__m128i)flags.part[1];
#endif
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(front, back));
#else
    uint32_t bits = 0;
    int16_t lane[16];
    spare_store(lane, flags);
    for (int i = 0; i < 16; i++)
        bits |= (uint32_t)(lane[i] & 1) << i;
    return bits;
#endif
}

static inline uint32_t spare_mask_below(spare_lanes a, spare_lanes b)
{
    for (int i = 0; i < SPARE_PARTS; i++)
        a.part[i] = a.part[i] < b.part[i];
    return spare_bits(a);
}

static inline uint32_t spare_mask_equal(spare_lanes a, spare_lanes b)
{
    for (int i = 0; i < SPARE_PARTS; i++)
        a.part[i] = a.part[i] == b.part[i];
    return spare_bits(a);
}

/* ---- Philox4x32-10 ---------------------------------------------------------------------------------------- */

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

static inline void spare_rounds(spare_vector c[4], const spare_schedule *keys, int first)
{
    const spare_vector m0 = spare_all(0xD2511F53u), m1 = spare_all(0xCD9E8D57u);
    spare_vector c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
#pragma GCC unroll 10
    for (int i = first; i < 10; i++) {
        const spare_vector p0 = spare_times(c0, m0), p1 = spare_times(c2, m1);
        c0 = (p1 >> 32) ^ (c1 ^ keys->k0[i]);
        c2 = (p0 >> 32) ^ (c3 ^ keys->k1[i]);
        c1 = p1;
        c3 = p0;
    }
    c[0] = c0, c[1] = c1, c[2] = c2, c[3] = c3;
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
            spare_rounds(c[k], keys, 2);
        }
        for (int word = 0; word < 4; word++)
            spare_pack(out + 16 * word + 4 * SPARE_WIDTH * group, c[0][word], c[1][word], c[2][word], c[3][word]);
    }
}

/* 4 * SPARE_WIDTH draws of one trial, from `draw` on. */
static inline void spare_draws(spare_vector c[4][4], uint64_t draw, uint64_t trial, const spare_schedule *keys)
{
#ifdef __AVX2__
    const spare_vector steps = {0, 1, 2, 3};
#else
    const spare_vector steps = {0, 1};
#endif
    for (int k = 0; k < 4; k++) {
        c[k][0] = spare_all(draw + SPARE_WIDTH * k) + steps;
        c[k][1] = spare_all(0);
        c[k][2] = spare_all(trial & 0xFFFFFFFFu);
        c[k][3] = spare_all(trial >> 32);
        spare_rounds(c[k], keys, 0);
    }
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
