"""Writes canonical_input.jsonl and canonical_expected.jsonl: values as the JSON reader takes them, and their canonical text
as tools/peer/canon.py (in the folder given) writes it. Run once; the tests only read the two files."""
import base64, datetime as dt, decimal, json, random, struct, sys
sys.path.insert(0, sys.argv[1])
import canon

EPOCH = dt.datetime(1970, 1, 1)
STRUCT = ("struct", (("z", ("plain",)), ("a", ("plain",)), ("\u00e9", ("float",)), ("B", ("array", ("plain",)))))
TYPES = {"b": ("plain",), "i": ("plain",), "l": ("plain",), "f": ("float",), "d": ("float",), "p": ("decimal", 3), "w": ("decimal", 10),
         "s": ("plain",), "x": ("binary",), "day": ("date",), "at": ("timestamp",), "loc": ("local",),
         "tags": ("array", ("plain",)), "m": ("map", ("plain",), ("float",)), "r": STRUCT}
rnd = random.Random(7)
TEXTS = ["", "a", "\u00e9\u4e2d\U0001f600", "q\"\\/", "\b\f\n\r\t", "\x01\x1f\x7f", "\u2028", "long " * 9]
DOUBLES = [0.0, -0.0, 1.0, 0.1, 1e16, 1e15, 123456789012345680.0, 9999999999999998.0, 1e-4, 1e-5, 9.5e-5, 5e-324, 1.7976931348623157e308, 2.0 ** 63,
           1e22, 1e23, 3.141592653589793, float("nan"), float("inf"), float("-inf"), 100.0, 2.5e-10]


def single(v):
    return struct.unpack("f", struct.pack("f", v))[0]


def rand_double():
    if rnd.random() < 0.4:
        return rnd.choice(DOUBLES)
    return struct.unpack("d", struct.pack("Q", rnd.getrandbits(64)))[0]


def rand_single():
    v = struct.unpack("f", struct.pack("I", rnd.getrandbits(32)))[0]
    return rnd.choice([0.1, 1.5, -0.0, 16777216.0, 1e-7]) if rnd.random() < 0.4 else v


def j_float(v):
    if v != v:
        return "NaN"
    if v in (float("inf"), float("-inf")):
        return "Infinity" if v > 0 else "-Infinity"
    return v


def row():
    inp, out = {}, {}

    def put(name, value, as_json):
        if rnd.random() < 0.15:
            value = as_json = None
        inp[name] = as_json
        out[name] = canon.value(value, TYPES[name])

    v = rnd.random() < 0.5; put("b", v, v)
    v = rnd.randrange(-2**31, 2**31); put("i", v, v)
    v = rnd.choice([-2**63, 2**63 - 1, 0, rnd.randrange(-2**63, 2**63)]); put("l", v, v)
    v = single(rand_single()); put("f", v, j_float(v))
    v = rand_double(); put("d", v, j_float(v))
    v = decimal.Decimal(rnd.randrange(-10**9, 10**9)).scaleb(-rnd.randrange(0, 4)); v = v if abs(v) < 10**6 else decimal.Decimal("0.050"); put("p", v, format(v, "f"))
    v = decimal.Decimal(rnd.randrange(-10**38 + 1, 10**38)).scaleb(-10, decimal.Context(prec=60)); put("w", v, format(v, "f"))
    v = rnd.choice(TEXTS); put("s", v, v)
    v = rnd.randbytes(rnd.randrange(0, 6)); put("x", v, base64.b64encode(v).decode())
    v = dt.date.fromordinal(rnd.randrange(1, 3652059)); put("day", v, v.isoformat())
    us = rnd.randrange(-62135596800 * 10**6, 253402300799 * 10**6)
    v = EPOCH + dt.timedelta(microseconds=us); put("at", us, us)
    put("loc", us, rnd.choice([v.isoformat(), v.isoformat(" ")]))
    v = [rnd.choice(TEXTS + [None]) for _ in range(rnd.randrange(0, 4))]; put("tags", v, v)
    v = {k: rnd.choice([rand_double(), None]) for k in rnd.sample(TEXTS, rnd.randrange(0, 5))}
    put("m", v, {k: x if x is None else j_float(x) for k, x in v.items()})
    v = {"z": rnd.choice(TEXTS), "a": rnd.randrange(-9, 9), "\u00e9": rand_double(), "B": [1, None, 3]}
    put("r", v, {**v, "\u00e9": j_float(v["\u00e9"])})
    return inp, out


rows = [row() for _ in range(150)]
with open("canonical_input.jsonl", "w", encoding="utf-8") as f:
    for i, (inp, _) in enumerate(rows):
        f.write(json.dumps(inp, ensure_ascii=i % 2 == 0) + "\n")
with open("canonical_expected.jsonl", "w", encoding="utf-8") as f:
    for _, out in rows:
        f.write(canon.dumps(out) + "\n")
