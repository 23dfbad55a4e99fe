#!/usr/bin/env python3
"""Measures products of matrices split over ranks: Chorus, ScaLAPACK, and each rank alone.

Start here; run.sh builds what this needs and calls it. For each shape every layout of Chorus and every
grid and block size of ScaLAPACK is tried shortly; then the best of each, the bound, and Chorus in bf16
run blocks in turn, A B C C B A, in live jobs that sleep between their blocks.
"""

import argparse
import datetime
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peers"))

import machine  # noqa: E402
import stats  # noqa: E402
from jobs import LiveJob, SideFailed, WrongResult, each_rank, joining_variables  # noqa: E402

# Rows of C x columns of C x length of the contraction.
SHAPES = "1024x1024x1024,2048x2048x2048,256x256x65536,65536x256x256,2047x1531x997"
# Every matrix is split over both ranks before and after, as ScaLAPACK's are.
PRODUCTS = ("A[I_X,+J]+*+B[J_X,+K]+->+C[I_X,+K]", "A[I,+J_X]+*+B[J,+K_X]+->+C[I,+K_X]",
            "A[I_X,+J]+*+B[J,+K_X]+->+C[I_X,+K]", "A[I_X,+J]+*+B[J,+K_X]+->+C[I,+K_X]",
            "A[I,+J_X]+*+B[J_X,+K]+->+C[I_X,+K]")
TILES = (64, 96, 128, 192, 256)
# What is asked for: the peer's time over ours.
WANTED = {"1024x1024x1024": 1.3, "2048x2048x2048": 1.3, "256x256x65536": 2.3,
          "65536x256x256": 1.15, "2047x1531x997": 1.3}


class Bench:
    def __init__(self, programs, folder, ranks):
        self.ranks = ranks
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        worker = os.path.join(programs, "matmul_")
        self.jobs = {
            "chorus": LiveJob("chorus", ranks, folder,
                              lambda path, own: each_rank(ranks, [worker + "chorus", path, own, "chorus"]),
                              {**one_thread, **joining_variables(), "CHORUS_TUNING": "off"}),
            "scalapack": LiveJob("scalapack", ranks, folder,
                                 lambda path, own: ["mpirun.openmpi", "--bind-to", "none", "-n", str(ranks),
                                                    worker + "scalapack", path, own, "scalapack", "0", "0"],
                                 {**one_thread, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                  "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})}

    def block(self, side, shape, samples):
        name, setting = side
        m, n, k = shape
        return self.jobs[name].run(m=m, n=n, k=k, samples=samples, **setting)

    def best(self, sides, shape):
        """The fastest of `sides` by four samples each."""
        return min(sides, key=lambda side: min(self.block(side, shape, 4)))

    def end(self):
        for job in self.jobs.values():
            job.end()


def label(side):
    name, setting = side
    if setting.get("product") == "independent":
        return f"each rank alone {setting['dtype']}"
    if name == "chorus":
        return f"chorus {setting['dtype']}"
    return name


def describe(side):
    """The setting as people write it."""
    _, setting = side
    return ", ".join(f"{key} {value}".replace("+", " ") for key, value in setting.items())


def measure(bench, shape, rounds, samples):
    ours = bench.best([("chorus", {"dtype": "f32", "product": product}) for product in PRODUCTS], shape)
    narrow = ("chorus", {**ours[1], "dtype": "bf16"})
    peer = bench.best([("scalapack", {"grid_rows": rows, "tile": tile})
                       for rows in (1, bench.ranks) for tile in TILES], shape)
    bound = ("chorus", {"dtype": "f32", "product": "independent"})
    sides = [ours, peer, bound, narrow]
    blocks = {label(side): [] for side in sides}
    for _ in range(rounds):
        for side in sides + sides[::-1]:
            blocks[label(side)].append(bench.block(side, shape, samples))
    flops = 2.0 * shape[0] * shape[1] * shape[2]
    record = {"bench": "matmul", "shape": "x".join(map(str, shape)), "ranks": bench.ranks, "sides": {}}
    for side in sides:
        name = label(side)
        center = stats.center(blocks[name])
        record["sides"][name] = {"setting": describe(side), "time_ns": center,
                                 "gflops": round(flops / center, 1), "blocks": len(blocks[name]),
                                 "quantiles_ns": stats.summary(blocks[name])}

    def ratio(slower, faster):
        value, low, high = stats.ratio(blocks[slower], blocks[faster])
        return {"ratio": round(value, 3), "low95": round(low, 3), "high95": round(high, 3)}

    record["over_scalapack"] = ratio("scalapack", "chorus f32")
    record["of_bound"] = ratio("each rank alone f32", "chorus f32")
    record["bf16_over_f32"] = ratio("chorus f32", "chorus bf16")
    return record


def parse_arguments():
    parser = argparse.ArgumentParser(description="Measures split matrix products against ScaLAPACK.",
                                     epilog="example: run.sh --shapes 1024x1024x1024 --rounds 3")
    parser.add_argument("--programs", required=True, help="folder of the built programs")
    parser.add_argument("--shapes", default=SHAPES, help="MxNxK, comma separated")
    parser.add_argument("--ranks", type=int, default=2, help="one core each")
    parser.add_argument("--rounds", type=int, default=4, help="A B C C B A so often")
    parser.add_argument("--samples", type=int, default=5, help="products in a block")
    parser.add_argument("--out", help="append one JSON line a shape to this file")
    options = parser.parse_args()
    options.shapes = [tuple(int(size) for size in text.split("x")) for text in options.shapes.split(",")]
    return options


def main():
    options = parse_arguments()
    here = {"machine": machine.describe(), "commit": machine.commit(HERE),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")}
    out = open(options.out, "a", encoding="utf-8") if options.out else None
    print(f"{'M x N x K':>16} {'chorus':>8} {'ScaLAPACK':>9} {'alone':>7} {'bf16':>7}   "
          f"{'over ScaLAPACK':>20} {'wanted':>6} {'of alone':>8} {'bf16/f32':>8}  (GFLOP/s, all ranks)")
    failed = False
    with tempfile.TemporaryDirectory(prefix="matmul-") as folder:
        bench = Bench(options.programs, folder, options.ranks)
        try:
            for shape in options.shapes:
                record = measure(bench, shape, options.rounds, options.samples)
                rate = [record["sides"][name]["gflops"] for name in
                        ("chorus f32", "scalapack", "each rank alone f32", "chorus bf16")]
                over = record["over_scalapack"]
                wanted = WANTED.get(record["shape"])
                print(f"{record['shape']:>16} {rate[0]:>8} {rate[1]:>9} {rate[2]:>7} {rate[3]:>7}   "
                      f"{over['ratio']:>6.2f} ({over['low95']:.2f}..{over['high95']:.2f}) "
                      f"{wanted or '-':>6} {record['of_bound']['ratio']:>8.2f} "
                      f"{record['bf16_over_f32']['ratio']:>8.2f}  "
                      f"{record['sides']['chorus f32']['setting']} | {record['sides']['scalapack']['setting']}",
                      flush=True)
                if out is not None:
                    out.write(json.dumps({**here, **record}) + "\n")
                    out.flush()
        except (SideFailed, WrongResult) as error:
            print(f"failed: {error}", file=sys.stderr)
            failed = True
        finally:
            bench.end()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
