"""Golomb rulers modulo v from finite fields: Singer, Bose and Ruzsa.

======  ============  =========  ================================================================
family  modulus v     marks      source
======  ============  =========  ================================================================
singer  q^2 + q + 1   q + 1      J. Singer, Trans. AMS 43 (1938): q a prime power
bose    q^2 - 1       q          R. C. Bose, J. Indian Math. Soc. 6 (1942): q a prime power
ruzsa   p(p - 1)      p - 1      I. Z. Ruzsa, Acta Arith. 65 (1993): p a prime
======  ============  =========  ================================================================

All differences of two marks are distinct modulo v. That survives multiplication by a unit of v, translation, and
leaving marks out. Each family is found by walking the powers of x in an extension of GF(q) and noting when they
meet a line: no table of polynomials is needed.
"""

from functools import lru_cache

import numpy as np

FAMILIES = ("singer", "bose", "ruzsa")


def prime_power(q):
    """(p, m) with q = p**m and p prime, or None."""
    if q < 2:
        return None
    p = next((d for d in range(2, int(q**0.5) + 1) if q % d == 0), q)
    m, rest = 0, q
    while rest % p == 0:
        rest //= p
        m += 1
    return (p, m) if rest == 1 else None


def modulus(family, q):
    """The modulus of a family at q, or None where the family has no member there."""
    power = prime_power(q)
    if power is None or (family == "ruzsa" and (power[1] != 1 or q < 3)):
        return None
    return {"singer": q * q + q + 1, "bose": q * q - 1, "ruzsa": q * (q - 1)}[family]


def size(family, q):
    """How many marks a family has at q."""
    return {"singer": q + 1, "bose": q, "ruzsa": q - 1}[family]


@lru_cache(maxsize=64)
def marks(family, q):
    """The marks of a family at q, ascending, in 0..v-1."""
    return {"singer": _singer, "bose": _bose, "ruzsa": _ruzsa}[family](q)


def _singer(q):
    # x^i in the plane spanned by 1 and x, where x generates GF(q^3)* / GF(q)*.
    add, mul = _field(q)
    v = q * q + q + 1
    for a in range(q):
        for b in range(q):
            for c in range(1, q):
                # x^3 = a x^2 + b x + c; x^i = z x^2 + y x + w up to a factor
                times_a, times_b, times_c = mul[a], mul[b], mul[c]
                w, y, z, found = 1, 0, 0, [0]
                for i in range(1, v + 1):
                    w, y, z = times_c[z], add[w][times_b[z]], add[y][times_a[z]]
                    if z == 0:
                        if y == 0:
                            break
                        found.append(i)
                if i == v:
                    return tuple(found)
    raise AssertionError(f"GF({q}^3) has a generator")


def _bose(q):
    # x^i = x + w for some w in GF(q), where x generates GF(q^2)*.
    add, mul = _field(q)
    v = q * q - 1
    for a in range(q):
        for b in range(1, q):
            # x^2 = a x + b; x^i = y x + w
            times_a, times_b = mul[a], mul[b]
            w, y, found = 1, 0, []
            for i in range(1, v + 1):
                w, y = times_b[y], add[w][times_a[y]]
                if y == 1:
                    found.append(i)
                elif y == 0 and w == 1:
                    break
            if i == v:
                return tuple(found)
    raise AssertionError(f"GF({q}^2) has a generator")


def _ruzsa(p):
    # The residue i modulo p - 1 and g^i modulo p, put together by the Chinese remainder theorem.
    g = next(g for g in range(1, p) if len({pow(g, i, p) for i in range(p - 1)}) == p - 1)
    return tuple(sorted((p * i - (p - 1) * pow(g, i, p)) % (p * (p - 1)) for i in range(1, p)))


@lru_cache(maxsize=8)
def _field(q):
    """Addition and multiplication tables of GF(q), as lists of lists; 0 and 1 are the neutral elements."""
    p, m = prime_power(q)
    if m == 1:
        return [[(a + b) % p for b in range(p)] for a in range(p)], [
            [a * b % p for b in range(p)] for a in range(p)
        ]
    # An element is a polynomial over GF(p), its coefficients the base-p digits, lowest first.
    digits = [tuple(a // p**i % p for i in range(m)) for a in range(q)]
    number = {d: a for a, d in enumerate(digits)}
    add = [[number[tuple((x + y) % p for x, y in zip(a, b, strict=True))] for b in digits] for a in digits]
    for low in digits:
        # x^m = low: take the first polynomial whose root x runs through all q - 1 units.
        powers, element = [], 1
        for _ in range(q - 1):
            powers.append(element)
            *rest, top = digits[element]
            element = number[tuple((s + top * t) % p for s, t in zip((0, *rest), low, strict=True))]
        if len({*powers} - {0}) == q - 1:
            break
    log = {element: i for i, element in enumerate(powers)}
    mul = [[0] * q for _ in range(q)]
    for a in range(1, q):
        for b in range(1, q):
            mul[a][b] = powers[(log[a] + log[b]) % (q - 1)]
    return add, mul


def units(family, q):
    """int64, ascending: multipliers that give every ruler of the family up to translation and mirror image."""
    v = modulus(family, q)
    p = prime_power(q)[0]
    every = np.arange(1, v, dtype=np.int64)
    every = every[np.gcd(every, v) == 1]
    if family == "ruzsa":
        # Multiplying g^i by a constant only shifts i: one unit for each residue modulo p - 1, up to sign.
        every = every[every % p == 1]
        return every[every % (p - 1) <= (p - 1) // 2]
    # Multiplying by p (the Frobenius map) only translates the marks: the least unit of each class.
    least, power = np.minimum(every, v - every), p % v
    while power != 1:
        times = every * power % v
        least = np.minimum(least, np.minimum(times, v - times))
        power = power * p % v
    return every[every == least]
