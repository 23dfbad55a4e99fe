#!/usr/bin/env python3
"""Tables and pictures from kept results.

    report.py bench/results/FILE.jsonl                     tables in markdown
    report.py bench/results/FILE.jsonl --op all_reduce     of one operation
    report.py bench/results/FILE.jsonl --svg FILE.svg      a picture, of all_reduce if none is named
    report.py bench/results/FILE.jsonl --must              what is asked for, and what is reached

A case that was measured several times counts as it was measured last.
"""

import argparse
import json

import svg
from measure import OPS, show_size, show_us

# What issue and README promise, as (operations, least bytes, most bytes, {memory: ratio}); a ratio
# of None means never slower: the lower end of the interval is at least 0.95.
MUSTS_2 = (
    (("all_reduce",), 8, 1 << 10, {"ordinary": None}),
    (("all_reduce",), 4 << 10, 32 << 10, {"symmetric": 2.5, "ordinary": 2}),
    (("all_reduce",), 256 << 10, 2 << 20, {"symmetric": 2, "ordinary": 1.3}),
    (("all_reduce",), 16 << 20, 128 << 20, {"symmetric": 2.7, "ordinary": 1.3}),
    (("all_gather", "all_to_all", "broadcast", "gather", "scatter", "reduce"), 8, 128 << 20,
     {"symmetric": None, "ordinary": None}),
)
MUSTS_CROWDED = ((OPS, 0, 128 << 20, {"symmetric": 2, "ordinary": 1.2}),)
# Fractions of the bound: operations, least bytes, {memory: fraction}.
FRACTIONS = (
    (("all_reduce", "reduce_scatter"), 16 << 20, {"symmetric": 0.8, "ordinary": 0.4}),
    (("all_gather", "all_to_all", "broadcast", "gather", "scatter", "reduce"), 256 << 10,
     {"symmetric": 0.8, "ordinary": 0.4}),
)


def load(paths):
    """{(op, ranks, dtype, buffers, placement, bytes): record}, the last of each."""
    records = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                key = tuple(record[name] for name in
                            ("op", "ranks", "dtype", "buffers", "placement", "bytes"))
                records[key] = record
    return records


def time(record, label):
    side = record["sides"].get(label)
    return show_us(side["time_ns"]) if side else "-"


def ratio(record, label):
    found = record["ratios"].get(label)
    return f"{found['ratio']:.2f} ({found['low95']:.2f})" if found else "-"


def fraction(record, label):
    found = record["fraction_of_bound"].get(label)
    return f"{found:.2f}" if found is not None else "-"


def tables(records):
    """Markdown, one table for each (op, ranks, dtype, buffers, placement)."""
    groups = {}
    for key in records:
        groups.setdefault(key[:5], []).append(key)
    order = {op: i for i, op in enumerate(OPS)}
    out = []
    for group in sorted(groups, key=lambda g: (g[1], g[2], order[g[0]], g[3], g[4])):
        op, ranks, dtype, buffers, placement = group
        last = records[max(groups[group], key=lambda k: records[k]["date"])]
        where = last["machine"]
        out += [f"**{op}**, {dtype}, {ranks} ranks on {where['cores']} cores ({placement}: a line "
                f"crosses in {last['one_way_ns']:.0f} ns), {buffers} buffers, us", "",
                "| size | ordinary | symmetric | best peer | which | ratio ordinary | "
                "ratio symmetric | of the bound: ordinary | symmetric |",
                "|---:|---:|---:|---:|---|---:|---:|---:|---:|"]
        for key in sorted(groups[group], key=lambda k: k[5]):
            r = records[key]
            out.append("| " + " | ".join((
                show_size(r["bytes"]), time(r, "chorus ordinary"), time(r, "chorus symmetric"),
                time(r, r["best_peer"]), r["best_peer"] or "-", ratio(r, "chorus ordinary"),
                ratio(r, "chorus symmetric"), fraction(r, "chorus ordinary"),
                fraction(r, "chorus symmetric"))) + " |")
        out.append("")
    return "\n".join(out)


def musts(records):
    """One line for each thing that is asked for and measured."""
    out = []

    def judge(record, label, asked, value, ok):
        out.append(f"{'ok  ' if ok else 'MISS'} {record['op']:<14} {record['ranks']} ranks "
                   f"{show_size(record['bytes']):>8} {record['placement']} {label:<9} "
                   f"asked {asked}, measured {value}")

    for key in sorted(records, key=lambda k: (k[1], OPS.index(k[0]), k[4], k[5])):
        record = records[key]
        if record["dtype"] != "f32" or record["buffers"] != "cold":
            continue
        lists = MUSTS_2 if record["ranks"] == 2 else MUSTS_CROWDED
        for ops, least, most, asked in lists:
            if record["op"] not in ops or not least <= record["bytes"] <= most:
                continue
            for memory, factor in asked.items():
                found = record["ratios"].get("chorus " + memory)
                if found is None:
                    continue
                ok = found["low95"] >= 0.95 if factor is None else found["ratio"] >= factor
                judge(record, memory, "never slower" if factor is None else f"{factor} x",
                      f"{found['ratio']:.2f} (low {found['low95']:.2f})", ok)
        for ops, least, asked in FRACTIONS if record["ranks"] == 2 else ():
            if record["op"] not in ops or record["bytes"] < least:
                continue
            for memory, part in asked.items():
                found = record["fraction_of_bound"].get("chorus " + memory)
                if found is not None:
                    judge(record, memory, f"{part} of the bound", f"{found:.2f}", found >= part)
    return "\n".join(out)


def picture(records, op, ranks, dtype, buffers):
    """Time and speed against size of our two memories, the best peer and the bound."""
    times = {}
    speeds = {}
    for key, record in sorted(records.items(), key=lambda entry: entry[0][5]):
        if (key[0], key[1], key[2], key[3]) != (op, ranks, dtype, buffers):
            continue
        bound = next((label for label in record["sides"] if label.startswith("bound")), None)
        for name, label in (("Chorus, symmetric memory", "chorus symmetric"),
                            ("Chorus, ordinary memory", "chorus ordinary"),
                            ("best of Open MPI, MPICH, Gloo", record["best_peer"]),
                            ("bound", bound)):
            side = record["sides"].get(label)
            if side is None or record["bytes"] == 0:
                continue
            us = side["time_ns"] / 1000
            times.setdefault(name, []).append((record["bytes"], us))
            speeds.setdefault(name, []).append((record["bytes"], record["bytes"] / us / 1000))
    if not times:
        raise SystemExit(f"report: there is no result of {op}, {ranks} ranks, {dtype}, {buffers}")
    return svg.draw(f"{op}, {dtype}, {ranks} ranks, {buffers} buffers, the result read",
                    [svg.Panel("time (us)", times), svg.Panel("size / time (GB/s)", speeds)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="+", help="JSON lines that measure.py --out wrote")
    parser.add_argument("--must", action="store_true", help="compare with what is asked for")
    parser.add_argument("--svg", help="write a picture to this file")
    parser.add_argument("--op", help="only this operation")
    parser.add_argument("--ranks", type=int, help="only this number of ranks; of a picture 2")
    parser.add_argument("--dtype", default="f32", help="of the picture")
    parser.add_argument("--buffers", default="cold", help="of the picture")
    options = parser.parse_args()
    records = load(options.files)
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(picture(records, options.op or "all_reduce", options.ranks or 2,
                               options.dtype, options.buffers))
        return
    chosen = {key: record for key, record in records.items()
              if options.op in (None, key[0]) and options.ranks in (None, key[1])}
    print(musts(chosen) if options.must else tables(chosen))


if __name__ == "__main__":
    main()
