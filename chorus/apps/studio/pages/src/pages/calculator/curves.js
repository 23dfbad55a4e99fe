// From the answer of `estimate` with compare to what the chart draws. Pure.

/** What can stand on the y axis, each of an estimate. */
export const measures = {
  seconds: (e) => e.seconds,
  busbw: (e) => e.busbw_bytes_per_second,
  algbw: (e) => e.algbw_bytes_per_second,
};

/** One line an algorithm, and one, `best`, that is at every size the fastest of all. */
export function curves(estimates, measure, bestName, chosen) {
  const of = measures[measure];
  const lines = new Map();
  const best = new Map();
  for (const e of estimates) {
    if (!lines.has(e.algorithm)) lines.set(e.algorithm, []);
    lines.get(e.algorithm).push({ x: e.bytes, y: of(e), note: '' });
    const known = best.get(e.bytes);
    if (!known || e.seconds < known.seconds) best.set(e.bytes, e);
  }
  const byX = (a, b) => a.x - b.x;
  const series = [...lines].map(([name, points]) => ({ name, points: points.sort(byX), strong: name === chosen }));
  const envelope = [...best.values()].map((e) => ({ x: e.bytes, y: of(e), note: e.algorithm })).sort(byX);
  return [...series, { name: bestName, points: envelope, best: true }];
}

/** Ranges of sizes and who is the fastest in them: [{ algorithm, from, to }]; from and to are null at the ends. */
export function winners(answer) {
  const { crossovers, estimates } = answer;
  if (!estimates.length) return [];
  const least = Math.min(...estimates.map((e) => e.bytes));
  const first = estimates.filter((e) => e.bytes === least).reduce((best, e) => (e.seconds < best.seconds ? e : best)).algorithm;
  const bounds = [{ to: crossovers[0]?.from ?? first, bytes: null }, ...crossovers];
  return bounds.map(({ to, bytes }, i) => ({ algorithm: to, from: bytes, to: bounds[i + 1]?.bytes ?? null }));
}

/**
 * Measured points as dots, by growing size. Some sources give a bandwidth and no time, or the reverse: each follows from
 * the other, `factor` being busbw / algbw of the operation.
 */
export function measuredDots(points, measure, factor) {
  return points.filter((p) => p.bytes > 0).map((p) => {
    const algbw = p.algbw_bytes_per_second ?? (p.seconds ? p.bytes / p.seconds : p.busbw_bytes_per_second / factor);
    const y = { seconds: p.seconds ?? p.bytes / algbw, busbw: p.busbw_bytes_per_second ?? algbw * factor, algbw }[measure];
    return { x: p.bytes, y, note: p.source };
  }).filter((p) => p.y > 0).sort((a, b) => a.x - b.x);
}
