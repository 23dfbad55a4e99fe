#!/usr/bin/env python3
"""Measures Chorus against its peers. Start here; run.sh builds what this needs and calls it.

For each case (operation, bytes, ranks, type, buffers): every setting of every peer is tried shortly,
the best few are kept, and then all kept sides run blocks in turn, A B C C B A, in live jobs that
sleep between their blocks.
"""

import argparse
import datetime
import json
import os
import re
import sys
import tempfile

import machine
import settings
import stats
from jobs import Cannot, Jobs, SideFailed, WrongResult

OPS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather",
       "scatter", "barrier")
BLOCKS = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
QUICK_SIZES = "8,1KiB,4KiB,32KiB,256KiB,2MiB,16MiB"
FULL_SIZES = "8,64,1KiB,4KiB,32KiB,256KiB,2MiB,16MiB,128MiB"
FAR_NS = 150  # a line that takes longer between the cores: they are far apart
DRIFT = 1.5   # a block is thrown away if the probes around it differ by more


def parse_size(text):
    match = re.fullmatch(r"(\d+)\s*([KMG]?)(iB|B)?", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; write 8, 4KiB, 2MiB")
    return int(match.group(1)) << {"": 0, "K": 10, "M": 20, "G": 30}[match.group(2)]


def show_size(size):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def show_us(ns):
    us = ns / 1000
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 1000 else f"{us:.0f}"


class Case:
    """One operation, size, type and kind of buffers, on the jobs of one number of ranks."""

    def __init__(self, jobs, op, size, dtype, ranks, cold, rotate, reserve, crowded, budget_ms):
        self.jobs = jobs
        self.op = op
        self.ranks = ranks
        # Every rank's piece is a whole number of elements.
        unit = 4 * ranks if op in BLOCKS else 4
        self.bytes = max(unit, size // unit * unit) if op != "barrier" else 0
        self.dtype = dtype
        self.cold = cold
        self.rotate = rotate
        self.reserve = reserve
        self.sample_ns = 1e6 if crowded else 5e4
        self.budget_ns = budget_ms * 1e6

    def block(self, side, setting, memory="ordinary", estimate=None, budget_ns=None):
        """One block; its samples. Without an estimate of the time of a call, one short sample."""
        if estimate is None:
            calls, samples, warmup = (10, 2, 2) if self.bytes <= 1 << 16 else (1, 1, 1)
        else:
            calls = max(1, min(2000, round(self.sample_ns / estimate)))
            budget = budget_ns or self.budget_ns
            samples = max(5, min(200, round(budget / (calls * estimate))))
            warmup = max(2, min(2000, round(2e5 / estimate)))
        return self.jobs.run(side, op=self.op, dtype=self.dtype, memory=memory,
                             buffers="cold" if self.cold else "warm", bytes=self.bytes,
                             rotate=self.rotate, reserve=self.reserve, samples=samples, calls=calls, warmup=warmup,
                             setting=setting)

    def time_once(self, side, setting, memory="ordinary", best=None):
        """A first estimate in ns; None if the side cannot do it or is far slower than `best` ns."""
        try:
            first = min(self.block(side, setting, memory))
            if best is not None and first > 2.5 * best:
                return None
            return stats.median(self.block(side, setting, memory, first, budget_ns=1.5e7))
        except Cannot:
            return None
        except (SideFailed, WrongResult) as error:
            print(f"# left out: {side} {setting}: {str(error)[:300]}", file=sys.stderr)
            return None

    def sweep(self, candidates, keep):
        """The `keep` fastest of [(side, setting, label, memory)], with their estimates."""
        found = []
        best = None
        for candidate in candidates:
            side, setting, _, memory = candidate
            estimate = self.time_once(side, setting, memory, best)
            if estimate is not None:
                found.append((estimate, candidate))
                best = min(best or estimate, estimate)
        found.sort(key=lambda entry: entry[0])
        return [entry for entry in found[:keep] if entry[0] <= 1.5 * best]

    def placement(self):
        return self.jobs["bound"].probe()

    def rounds(self, sides, rounds):
        """{label: {"near"|"far": [blocks]}} and the probes; drifted blocks are run again."""
        results = {label: {"near": [], "far": []} for _, (_, _, label, _) in sides}
        probes = []
        thrown = 0
        for _ in range(rounds):
            for estimate, (side, setting, label, memory) in sides + sides[::-1]:
                for _ in range(4):
                    before = self.placement()
                    samples = self.block(side, setting, memory, estimate)
                    after = self.placement()
                    if max(before, after) <= DRIFT * max(min(before, after), 1):
                        break
                    thrown += 1
                else:
                    continue
                results[label]["far" if before + after > 2 * FAR_NS else "near"].append(samples)
                probes.append((before + after) / 2)
        return results, probes, thrown


def run_case(case, options, sides_present):
    """One case: a list of records, one for each placement that was met."""
    ours = case.sweep([("chorus", options.setting, "chorus ordinary", "ordinary")], 1)
    symmetric = case.sweep([("chorus", options.setting, "chorus symmetric", "symmetric")], 1)
    ours += symmetric
    if case.dtype == "f32" and not options.alone:
        peers = case.sweep([candidate + ("ordinary",) for candidate in
                            settings.candidates(case.op, case.ranks, sides_present)],
                           options.keep)
    else:
        peers = []
    bound = []
    if case.op != "barrier":
        bound = case.sweep([("bound", kind, f"bound {kind}", "ordinary")
                            for kind in ("push_plain", "push_stream", "push_mixed",
                                         "pull_plain", "pull_stream")], 1)
    sides = ours + peers + bound
    results, probes, thrown = case.rounds(sides, options.rounds)

    records = []
    for place in ("near", "far"):
        blocks = {label: by_place[place] for label, by_place in results.items() if by_place[place]}
        our_labels = [entry[1][2] for entry in ours if entry[1][2] in blocks]
        if not our_labels:
            continue
        peer_labels = [entry[1][2] for entry in peers if entry[1][2] in blocks]
        bound_labels = [entry[1][2] for entry in bound if entry[1][2] in blocks]
        best = min(peer_labels, key=lambda label: stats.center(blocks[label]), default=None)
        record = {"op": case.op, "bytes": case.bytes, "ranks": case.ranks, "dtype": case.dtype,
                  "buffers": "cold" if case.cold else "warm", "rotate_bytes": case.rotate,
                  "placement": place, "one_way_ns": round(stats.median(probes), 1),
                  "blocks_thrown_away": thrown, "sides": {}, "best_peer": best, "ratios": {},
                  "fraction_of_bound": {}}
        for label, samples in blocks.items():
            record["sides"][label] = {"blocks": len(samples), "time_ns": stats.center(samples),
                                      "quantiles_ns": stats.summary(samples)}
        for label in our_labels:
            if best is not None:
                value, low, high = stats.ratio(blocks[best], blocks[label])
                record["ratios"][label] = {"ratio": round(value, 3), "low95": round(low, 3),
                                           "high95": round(high, 3)}
            if bound_labels:
                record["fraction_of_bound"][label] = round(
                    stats.center(blocks[bound_labels[0]]) / stats.center(blocks[label]), 3)
        records.append(record)
    return records


HEADER = (f"{'size':>8} {'ordinary':>9} {'symmetric':>9} {'best peer':>9}  "
          f"{'ratio ord (low)':>15} {'ratio sym (low)':>15} {'bound':>8} {'fr.ord':>6} "
          f"{'fr.sym':>6} {'line':>5}  best peer is      (times in us)")


def row(record):
    def time(label):
        side = record["sides"].get(label)
        return show_us(side["time_ns"]) if side else "-"

    def ratio(label):
        found = record["ratios"].get(label)
        return f"{found['ratio']:.2f} ({found['low95']:.2f})" if found else "-"

    def fraction(label):
        found = record["fraction_of_bound"].get(label)
        return f"{found:.2f}" if found is not None else "-"

    bound = next((label for label in record["sides"] if label.startswith("bound")), "")
    return (f"{show_size(record['bytes']):>8} {time('chorus ordinary'):>9} "
            f"{time('chorus symmetric'):>9} {time(record['best_peer']):>9}  "
            f"{ratio('chorus ordinary'):>15} {ratio('chorus symmetric'):>15} {time(bound):>8} "
            f"{fraction('chorus ordinary'):>6} {fraction('chorus symmetric'):>6} "
            f"{record['one_way_ns']:>3.0f}ns  {record['best_peer'] or '-'}")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description="Measures Chorus against Open MPI, MPICH and Gloo on this machine.",
        epilog="example: run.sh --op all_reduce --sizes 8,4KiB,1MiB --ranks 2 --quick")
    parser.add_argument("--programs", required=True, help="folder of the built programs")
    parser.add_argument("--op", default="all", help="operations, comma separated; or all")
    parser.add_argument("--sizes", help="comma separated: 8,4KiB,2MiB")
    parser.add_argument("--ranks", default="2", help="comma separated: 2,4,8")
    parser.add_argument("--dtype", default="f32", help="f32, bf16, f16; the last two Chorus only")
    parser.add_argument("--buffers", default="cold", help="cold, warm, or cold,warm")
    parser.add_argument("--rotate", type=parse_size,
                        help="bytes that all ranks rotate over; default 4 x the last cache")
    parser.add_argument("--setting", default="", help="for Chorus: algorithm=NAME")
    parser.add_argument("--peers", default="openmpi,openmpi_copy,openmpi_sm,mpich,gloo",
                        help="the sides that take part")
    parser.add_argument("--alone", action="store_true", help="Chorus and the bound only")
    parser.add_argument("--quick", action="store_true", help="an answer in under a minute")
    parser.add_argument("--rounds", type=int, help="A B C C B A so often; default 2 quick, 5 full")
    parser.add_argument("--keep", type=int, help="peers' settings kept; default 2 quick, 3 full")
    parser.add_argument("--out", help="append one JSON line a case to this file")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.keep = options.keep or (2 if options.quick else 3)
    options.op = OPS if options.op == "all" else tuple(options.op.split(","))
    for op in options.op:
        if op not in OPS:
            parser.error(f"no operation '{op}'; there are {', '.join(OPS)}")
    sizes = options.sizes or (QUICK_SIZES if options.quick else FULL_SIZES)
    options.sizes = [parse_size(text) for text in sizes.split(",")]
    options.ranks = [int(text) for text in options.ranks.split(",")]
    options.dtype = options.dtype.split(",")
    options.buffers = options.buffers.split(",")
    return options


def main():
    options = parse_arguments()
    cores = machine.cores()
    here = {"machine": machine.describe(), "commit": machine.commit(os.path.dirname(__file__)),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")}
    present = [side for side in options.peers.split(",")
               if os.path.exists(os.path.join(options.programs, "peers_" + side.split("_")[0]))]
    out = open(options.out, "a", encoding="utf-8") if options.out else None
    if out is None:
        print("# results are not kept (no --out)")
    failed = False
    for ranks in options.ranks:
        rotate = (options.rotate or 4 * machine.last_level_cache()) // ranks
        # What arena.h lays out at most: whole pairs, two at least, one more result, and the tenth
        # by which buffers of 4 KiB are moved apart.
        reserve = max(rotate, 4 * max(options.sizes)) + 4 * max(options.sizes)
        reserve += reserve // 10 + (1 << 16)
        folder = tempfile.mkdtemp(prefix="peers-")
        with Jobs(ranks, options.programs, folder, cores, reserve) as jobs:
            for op in options.op:
                for dtype in options.dtype:
                    for buffers in options.buffers:
                        print(f"\n# {op} {dtype}, {ranks} ranks on {cores} cores, {buffers} "
                              f"buffers, each result read by its rank")
                        print(HEADER)
                        for size in options.sizes if op != "barrier" else [0]:
                            case = Case(jobs, op, size, dtype, ranks, buffers == "cold", rotate, reserve,
                                        ranks > cores, 40 if options.quick else 120)
                            try:
                                records = run_case(case, options, present)
                            except (SideFailed, WrongResult, Cannot) as error:
                                print(f"{show_size(size):>8} failed: {error}")
                                failed = True
                                continue
                            for record in records:
                                print(row(record), flush=True)
                                if out is not None:
                                    out.write(json.dumps({**here, **record}) + "\n")
                                    out.flush()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
