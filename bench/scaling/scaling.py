"""Time of a collective against the number of ranks, at fixed bytes, beside the cost model's curve.

Each number of ranks is measured by `chorus bench`. The model is that of `chorus calibrate`, of a
measurement with two ranks alone: what it says of more ranks follows from its formulas. It knows
links and not cores; where ranks share cores they take turns, so a second line is the model's time
multiplied by ranks / cores.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peers"))

import machine  # noqa: E402  of bench/peers
import svg  # noqa: E402  of bench/peers

MEASURED, MODEL, SHARED = "measured", "cost model", "cost model x ranks / cores"
CALIBRATION = ["-g", "2", "-b", "8", "-e", "16M", "-f", "4", "-n", "100", "-w", "10"]


def tool(chorus, *arguments):
    """The JSON that a command of the tool prints."""
    outcome = subprocess.run([chorus, *arguments, "--json"], capture_output=True, text=True,
                             check=False)
    if outcome.returncode != 0:
        raise SystemExit(f"chorus {' '.join(arguments)}: {outcome.stderr.strip()}")
    return json.loads(outcome.stdout)


def measure(chorus, op, ranks, size, options):
    """us of one call: the least of `times` means over many calls, the slowest rank's each."""
    calls = max(20, min(2000, (64 << 20) // (size * ranks)))
    best = None
    for _ in range(options.times):
        report = tool(chorus, "bench", op, "-g", str(ranks), "-b", str(size), "-e", str(size), "-n",
                      str(calls), "-w", "10", "-a", "3", "-c", "1",
                      *(["--symmetric"] if options.symmetric else []))
        if report["wrong"] != 0:
            raise SystemExit(f"{op}, {ranks} ranks, {size} B: {report['wrong']} elements are wrong")
        time_us = report["rows"][0]["out_of_place"]["time_us"]
        best = time_us if best is None else min(best, time_us)
    return best


def calibrated(chorus, op, most_ranks, folder):
    """A machine file of as many ranks whose links are those that two ranks were measured to have."""
    log = os.path.join(folder, "two.json")
    tool(chorus, "bench", op, *CALIBRATION, "-J", log)
    path = os.path.join(folder, "here.toml")
    tool(chorus, "calibrate", log, "--out", path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    # The fits hold for two ranks only, the links for any number.
    text = text.split("[[fit]]")[0]
    text = re.sub(r"^node = .*$", f"node = {most_ranks}", text, flags=re.MULTILINE)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def predicted(chorus, op, ranks, size, machine_file):
    """us by the fastest formula."""
    report = tool(chorus, "estimate", op, "--bytes", str(size), "--on", machine_file, "--ranks",
                  str(ranks), "--compare")
    return min(row["seconds"] for row in report["estimates"]) * 1e6


def parse_size(text):
    units = {"K": 10, "M": 20, "G": 30}
    found = re.fullmatch(r"(\d+)([KMG]?)(?:iB)?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; give 8, 32K or 2M")
    return int(found[1]) << units.get(found[2], 0)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chorus", required=True, help="path of the tool")
    parser.add_argument("--op", default="all_reduce")
    parser.add_argument("--ranks", default=",".join(map(str, range(2, 17))),
                        help="comma separated (default 2 to 16)")
    parser.add_argument("--sizes", default="8,32K,2M", help="bytes, comma separated")
    parser.add_argument("--times", type=int, default=3, help="measurements of which the best counts")
    parser.add_argument("--symmetric", action="store_true", help="memory of Group::Allocate")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "results", "ranks"),
                        help="writes OUT.jsonl and OUT.svg")
    return parser.parse_args()


def main():
    options = arguments()
    ranks = [int(n) for n in options.ranks.split(",")]
    sizes = [parse_size(text) for text in options.sizes.split(",")]
    cores = machine.cores()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = calibrated(options.chorus, options.op, max(ranks), folder)
        print(f"{'bytes':>10} {'ranks':>6} {MEASURED + ' us':>14} {MODEL + ' us':>16}")
        for size in sizes:
            for n in ranks:
                measured_us = measure(options.chorus, options.op, n, size, options)
                model_us = predicted(options.chorus, options.op, n, size, file)
                rows.append({"machine": machine.describe(),
                             "commit": machine.commit(os.path.join(HERE, "..", "..")),
                             "date": datetime.datetime.now(datetime.timezone.utc)
                             .strftime("%Y-%m-%dT%H:%MZ"),
                             "op": options.op, "bytes": size, "ranks": n, "dtype": "f32",
                             "memory": "symmetric" if options.symmetric else "ordinary",
                             "measured_us": measured_us, "model_us": model_us})
                print(f"{size:>10} {n:>6} {measured_us:>14.2f} {model_us:>16.2f}", flush=True)
    panels = []
    for size in sizes:
        of_size = [row for row in rows if row["bytes"] == size]
        panels.append(svg.Panel(f"{svg.show_size(size)}: time (us) over ranks", {
            MEASURED: [(row["ranks"], row["measured_us"]) for row in of_size],
            MODEL: [(row["ranks"], row["model_us"]) for row in of_size],
            SHARED: [(row["ranks"], row["model_us"] * max(1, row["ranks"] / cores))
                     for row in of_size]}, show=str))
    with open(options.out + ".jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    with open(options.out + ".svg", "w", encoding="utf-8") as file:
        file.write(svg.draw(f"{options.op}, f32, {cores} cores", panels))
    print(f"written: {options.out}.jsonl, {options.out}.svg")


if __name__ == "__main__":
    main()
