"""What a result says about the machine: the processor, never a name."""

import os
import platform
import re
import subprocess


def cores():
    return len(os.sched_getaffinity(0))


def last_level_cache():
    """Bytes of the largest cache that the system reports."""
    largest = 0
    base = "/sys/devices/system/cpu/cpu0/cache"
    for index in sorted(os.listdir(base)) if os.path.isdir(base) else []:
        try:
            with open(f"{base}/{index}/size", encoding="ascii") as file:
                number, unit = re.match(r"(\d+)([KMG]?)", file.read()).groups()
        except (OSError, AttributeError):
            continue
        largest = max(largest, int(number) << {"": 0, "K": 10, "M": 20, "G": 30}[unit])
    return largest or 32 << 20


def describe():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cpu": model, "cores": cores(), "last_level_cache_bytes": last_level_cache(),
            "kernel": "Linux " + platform.release().split(".")[0]}


def commit(folder):
    outcome = subprocess.run(["git", "-C", folder, "rev-parse", "--short=12", "HEAD"],
                             capture_output=True, text=True, check=False)
    dirty = subprocess.run(["git", "-C", folder, "status", "--porcelain", "-uno"],
                           capture_output=True, text=True, check=False)
    return (outcome.stdout.strip() or "unknown") + ("+" if dirty.stdout.strip() else "")
