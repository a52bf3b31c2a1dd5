/* 16 lanes of int16 as a value, for the Cython kernels. A C compiler left to itself keeps maxima in memory.
 *
 * GCC and Clang vector extensions; a compiler without them leaves the package without this optional backend. The
 * width follows the compiler's target: one vector of 256 bits where it allows AVX2, otherwise two of 128. Signed, as
 * no x86-64 below AVX-512 compares unsigned lanes. */
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
    for (int i = 0; i < SPARE_PARTS; i++) {
#if defined(__AVX2__)
        a.part[i] = (spare_part)_mm256_min_epi16((__m256i)a.part[i], (__m256i)b.part[i]);
#elif defined(__SSE2__)
        a.part[i] = (spare_part)_mm_min_epi16((__m128i)a.part[i], (__m128i)b.part[i]);
#else
        const spare_part less = a.part[i] < b.part[i];
        a.part[i] = (a.part[i] & less) | (b.part[i] & ~less);
#endif
    }
    return a;
}

/* Lane by lane; `+` and `-` wrap around. */
#define SPARE_OPERATOR(name, operator)                                                                               \
    static inline spare_lanes name(spare_lanes a, spare_lanes b)                                                     \
    {                                                                                                                \
        for (int i = 0; i < SPARE_PARTS; i++)                                                                        \
            a.part[i] = a.part[i] operator b.part[i];                                                                \
        return a;                                                                                                    \
    }
SPARE_OPERATOR(spare_and, &)
SPARE_OPERATOR(spare_and_not, & ~)
SPARE_OPERATOR(spare_or, |)
SPARE_OPERATOR(spare_xor, ^)
SPARE_OPERATOR(spare_add, +)
SPARE_OPERATOR(spare_sub, -)
/* -1 in each lane where it holds, otherwise 0. */
SPARE_OPERATOR(spare_below, <)
SPARE_OPERATOR(spare_equal, ==)
#undef SPARE_OPERATOR

static inline spare_lanes spare_shift_left(spare_lanes a, int bits)
{
    for (int i = 0; i < SPARE_PARTS; i++)
        a.part[i] = a.part[i] << bits;
    return a;
}

/* One added in each lane where a < b, or where they are equal. */
static inline spare_lanes spare_tally_below(spare_lanes tally, spare_lanes a, spare_lanes b)
{
    return spare_sub(tally, spare_below(a, b));
}

static inline spare_lanes spare_tally_equal(spare_lanes tally, spare_lanes a, spare_lanes b)
{
    return spare_sub(tally, spare_equal(a, b));
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

static inline uint32_t spare_mask_below(spare_lanes a, spare_lanes b) { return spare_bits(spare_below(a, b)); }

static inline uint32_t spare_mask_equal(spare_lanes a, spare_lanes b) { return spare_bits(spare_equal(a, b)); }

#endif
