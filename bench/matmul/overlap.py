#!/usr/bin/env python3
"""Measures how much of what moves is hidden behind what is computed, over a link that is slow.

The link between the two ranks is paced so that gathering B, or reducing C, takes about as long as the
product. Then, in turn in one live job: only the product, only the collective, one after the other, and the
loop over chunks in which one goes on beside the other. run.sh --overlap builds what this needs and calls it.
"""

import argparse
import datetime
import itertools
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peers"))

import machine  # noqa: E402
import stats  # noqa: E402
from jobs import LiveJob, SideFailed, WrongResult, each_rank, joining_variables  # noqa: E402

# By what they move. A '+' stands for a blank.
PRODUCTS = {"all_gather": "A[I_X,+J]+*+B[J_X,+K]+->+C[I_X,+K]",
            "reduce_scatter": "A[I,+J_X]+*+B[J_X,+K]+->+C[I_X,+K]"}
WAYS = ("compute", "move", "plan", "overlap")
WANTED = 1.15  # of the longer of computing and moving
START_US = 500  # what a chunk costs more than its bytes: a look of the rank that receives it


def start(programs, folder, pace):
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    worker = os.path.join(programs, "matmul_chorus")
    return LiveJob("chorus", 2, folder, lambda path, own: each_rank(2, [worker, path, own, "chorus"]),
                   {**one_thread, **joining_variables(), "CHORUS_TUNING": "off",
                    **({"MATMUL_PACE": pace} if pace else {})})


def measure(options, collective, shape):
    m, n, k = shape
    product = PRODUCTS[collective]
    moved = (k if collective == "all_gather" else m) * n * 4 / 2  # bytes that a rank sends
    flops = 2.0 * m * n * k / 2  # of a rank
    with tempfile.TemporaryDirectory(prefix="overlap-") as folder:
        job = start(options.programs, folder, "")
        try:
            alone = stats.center([job.run(m=m, n=n, k=k, samples=options.samples, product=product,
                                          way="compute") for _ in range(3)])
        finally:
            job.end()
        bandwidth = moved / (alone * 1e-9)
        with tempfile.TemporaryDirectory(prefix="overlap-paced-") as paced:
            job = start(options.programs, paced, f"{bandwidth:.0f} {options.latency * 1000:.0f}")
            blocks = {way: [] for way in WAYS}
            try:
                for _ in range(options.rounds):
                    for way in WAYS + WAYS[::-1]:
                        blocks[way].append(job.run(
                            m=m, n=n, k=k, samples=options.samples, product=product, way=way,
                            flops_per_byte=flops / moved, latency_bytes=bandwidth * START_US * 1e-6))
            finally:
                job.end()
    times = {way: stats.center(blocks[way]) for way in WAYS}
    longer = max("compute", "move", key=lambda way: times[way])
    value, low, high = stats.ratio(blocks["overlap"], blocks[longer])
    link = moved / bandwidth * 1e9 + options.latency * 1e3  # what the link alone takes, ns
    return {"bench": "overlap", "collective": collective, "shape": "x".join(map(str, shape)), "ranks": 2, "dtype": "f32",
            "link_bytes_per_second": bandwidth, "link_latency_us": options.latency,
            "time_ns": times, "quantiles_ns": {way: stats.summary(blocks[way]) for way in WAYS},
            "longer": longer, "link_ns": link,
            "over_product_or_link": round(times["overlap"] / max(times["compute"], link), 3),
            "over_longer": {"ratio": round(value, 3), "low95": round(low, 3), "high95": round(high, 3)}}


def main():
    parser = argparse.ArgumentParser(description="Measures products that go on beside what they wait for.",
                                     epilog="example: run.sh --overlap --shapes 2048x2048x2048")
    parser.add_argument("--programs", required=True, help="folder of the built programs")
    parser.add_argument("--shapes", default="2048x2048x2048,4096x2048x2048", help="MxNxK, comma separated")
    parser.add_argument("--latency", type=float, default=50, help="of the link, us")
    parser.add_argument("--rounds", type=int, default=4, help="A B C D D C B A so often")
    parser.add_argument("--samples", type=int, default=5, help="products in a block")
    parser.add_argument("--out", help="append one JSON line a shape to this file")
    options = parser.parse_args()
    here = {"machine": machine.describe(), "commit": machine.commit(HERE),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")}
    print(f"{'':>14} {'M x N x K':>16} {'compute':>9} {'move':>9} {'in turn':>9} {'loop':>9}   "
          f"{'loop over the longer':>22} {'wanted':>6} {'over product or link':>20}  (ms; link)",
          flush=True)
    for collective, text in itertools.product(PRODUCTS, options.shapes.split(",")):
        try:
            record = measure(options, collective, tuple(int(size) for size in text.split("x")))
        except (SideFailed, WrongResult) as error:
            print(f"failed: {error}", file=sys.stderr)
            sys.exit(1)
        times, over = record["time_ns"], record["over_longer"]
        print(f"{collective:>14} {record['shape']:>16} " + " ".join(f"{times[way] / 1e6:>9.2f}" for way in WAYS) +
              f"   {over['ratio']:>8.3f} ({over['low95']:.3f}..{over['high95']:.3f}) {WANTED:>6} "
              f"{record['over_product_or_link']:>20.3f}  "
              f"{record['link_bytes_per_second'] / 1e6:.0f} MB/s, {options.latency:g} us", flush=True)
        if options.out:
            with open(options.out, "a", encoding="utf-8") as out:
                out.write(json.dumps({**here, **record}) + "\n")


if __name__ == "__main__":
    main()
