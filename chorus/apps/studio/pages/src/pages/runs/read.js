// What the lines of a file are, and what they say in one form. Pure.

/** Factors busbw / algbw of nccl-tests. */
function busFactor(operation, n) {
  if (operation === 'all_reduce') return (2 * (n - 1)) / n;
  return ['all_gather', 'reduce_scatter', 'all_to_all', 'gather', 'scatter'].includes(operation) ? (n - 1) / n : 1;
}

const ranksOf = ({ ranks }) => (ranks > 0 ? `${ranks} ranks` : '');

/** bench, training, trace or unknown: by the rows, which know it better than a file's name. */
export function kindOf(rows) {
  if (rows.some((row) => row?.ph)) return 'trace';
  if (rows.some((row) => Array.isArray(row?.rows) || row?.out_of_place || (row?.sides && row.op) || row?.measured_us)) return 'bench';
  if (rows.some((row) => row?.loss_nats !== undefined)) return 'training';
  return 'unknown';
}

/**
 * Measurements of a bench file: [{ group, side, kind, bytes, seconds, busbw, ratio, bound }]. `group` is what can be
 * compared (operation, ranks, element, ...); `side` is a way it was done: ours, a peer, or the bound (`kind`).
 * `ratio` is { ratio, low, high } over the best peer or null; `bound` the fraction of the bound or null.
 */
export function measurements(rows) {
  return rows.flatMap((row) => (Array.isArray(row?.rows) ? row.rows.flatMap((one) => fromTest(one, row)) : row?.sides && row.op ? fromPeers(row) : row?.measured_us ? fromModel(row) : []))
    .filter(({ bytes, seconds }) => Number.isFinite(bytes) && seconds > 0);
}

function fromTest(row, run) {
  const group = [row.operation, ranksOf(run), row.dtype, row.reduction, run.memory, run.calls].filter((part) => part && part !== '-' && part !== 'none').join(', ');
  const factor = busFactor(row.operation, run.ranks);
  const side = (name, one) => (one?.time_us > 0 ? [{ group, side: name, kind: 'ours', bytes: row.size_bytes, seconds: one.time_us * 1e-6, busbw: one.busbw_GB_per_s * 1e9, ratio: null, bound: name === 'out_of_place' ? row.fraction_of_bound ?? null : null }] : []);
  const bound = row.bound_us > 0 ? [{ group, side: 'bound', kind: 'bound', bytes: row.size_bytes, seconds: row.bound_us * 1e-6, busbw: (row.size_bytes * factor) / (row.bound_us * 1e-6), ratio: null, bound: null }] : [];
  return [...side('out_of_place', row.out_of_place), ...side('in_place', row.in_place), ...bound];
}

function fromPeers(row) {
  const group = [row.op, ranksOf(row), row.dtype, row.buffers, row.placement].filter(Boolean).join(', ');
  const factor = busFactor(row.op, row.ranks);
  return Object.entries(row.sides).map(([name, side]) => {
    const seconds = side.time_ns * 1e-9;
    const ratio = row.ratios?.[name];
    return {
      group, side: name, kind: name.startsWith('bound') ? 'bound' : name.startsWith('chorus') ? 'ours' : 'peer', bytes: row.bytes, seconds,
      busbw: (row.bytes * factor) / seconds, ratio: ratio ? { ratio: ratio.ratio, low: ratio.low95, high: ratio.high95 } : null, bound: row.fraction_of_bound?.[name] ?? null,
    };
  });
}

function fromModel(row) {
  const group = [row.op, ranksOf(row), row.dtype, row.memory].filter(Boolean).join(', ');
  const factor = busFactor(row.op, row.ranks);
  return [['measured', 'ours', row.measured_us], ['model', 'bound', row.model_us]].filter(([, , us]) => us > 0)
    .map(([side, kind, us]) => ({ group, side, kind, bytes: row.bytes, seconds: us * 1e-6, busbw: (row.bytes * factor) / (us * 1e-6), ratio: null, bound: null }));
}

/** Peers of one library take part with their best setting at each size: "Open MPI ring cma" -> "Open MPI". */
export function library(side) {
  return /^(Open MPI|MPICH|Gloo)/i.exec(side)?.[0] ?? side.replace(/^bound .*/, 'bound');
}

/** One line a side (peers: a library, at its best) over sizes: [{ name, kind, points: [{ x, y, note, measurement }] }]. */
export function lines(all, measure) {
  const best = new Map();
  for (const one of all) {
    const name = library(one.side);
    const key = `${name} ${one.bytes}`;
    if (!best.has(key) || one.seconds < best.get(key).seconds) best.set(key, { ...one, name });
  }
  const names = new Map();
  for (const one of best.values()) {
    if (!names.has(one.name)) names.set(one.name, { name: one.name, kind: one.kind, points: [] });
    names.get(one.name).points.push({ x: one.bytes, y: one[measure], note: one.side === one.name ? '' : one.side, measurement: one });
  }
  for (const line of names.values()) line.points.sort((a, b) => a.x - b.x);
  const order = { ours: 0, peer: 1, bound: 2 };
  return [...names.values()].sort((a, b) => order[a.kind] - order[b.kind] || a.name.localeCompare(b.name));
}

/** Of a training file: { curve: [{ step, loss, heldOut, seconds, tokens }], report }. */
export function training(rows) {
  const curve = rows.filter((row) => Number.isFinite(row?.step) && Number.isFinite(row.loss_nats))
    .map((row) => ({ step: row.step, loss: row.loss_nats, heldOut: row.held_out_loss_nats ?? null, seconds: row.seconds ?? null, tokens: row.tokens_per_second ?? null }));
  return { curve, report: rows.find((row) => row?.steps !== undefined && row.loss_nats !== undefined) ?? null };
}

/** Bytes that one rank sends in a step, by collective and axes: [{ name, bytes, predicted, share }]. */
export function bytesPerStep(report, rank = 0) {
  const sent = (report?.ranks?.[rank]?.bytes_sent_per_step ?? []).map(({ collective, axes, counted, predicted }) => ({ name: `${collective} ${axes}`, bytes: counted, predicted }));
  const all = sent.reduce((sum, { bytes }) => sum + bytes, 0);
  return sent.map((one) => ({ ...one, share: all ? one.bytes / all : 0 }));
}

/** Seconds that the intervals [begin, end] cover together. */
export function covered(intervals) {
  let sum = 0, end = -Infinity;
  for (const [from, to] of [...intervals].sort((a, b) => a[0] - b[0])) {
    if (to > end) sum += to - Math.max(from, end);
    end = Math.max(end, to);
  }
  return sum;
}

/**
 * Of a Chrome trace: { ranks: [{ name, seconds, share, calls, events }], operations: [{ name, calls, seconds, share, bytes }], begin, end }.
 * Share is the time in collectives, each moment counted once, of the time from a rank's first event to its last; events are
 * { name, begin, end, bytes, algorithm }, in seconds from the first of all.
 */
export function trace(rows) {
  const named = new Map(rows.filter((row) => row?.ph === 'M' && row.name === 'thread_name').map((row) => [`${row.pid} ${row.tid}`, row.args?.name]));
  const events = rows.filter((row) => row?.ph === 'X' && Number.isFinite(row.ts) && row.dur >= 0);
  const begin = events.reduce((least, { ts }) => Math.min(least, ts), Infinity);
  const lanes = new Map();
  for (const { name, pid, tid, ts, dur, args } of events) {
    const key = `${pid} ${tid}`;
    if (!lanes.has(key)) lanes.set(key, { name: named.get(key) ?? `rank ${tid}`, events: [] });
    lanes.get(key).events.push({ name: String(name ?? '?').replace(/ #\d+$/, ''), begin: (ts - begin) * 1e-6, end: (ts + dur - begin) * 1e-6, bytes: Number.isFinite(args?.bytes) ? args.bytes : 0, algorithm: args?.algorithm ?? '' });
  }
  const ranks = [...lanes.values()].map((lane) => {
    const from = lane.events.reduce((least, event) => Math.min(least, event.begin), Infinity), to = lane.events.reduce((most, event) => Math.max(most, event.end), 0);
    const seconds = covered(lane.events.map((event) => [event.begin, event.end]));
    return { ...lane, seconds, share: to > from ? seconds / (to - from) : 0, calls: lane.events.length };
  });
  const span = ranks.reduce((most, lane) => Math.max(most, lane.events.reduce((end, event) => Math.max(end, event.end), 0)), 0);
  const names = new Map();
  for (const event of ranks.flatMap((lane) => lane.events)) {
    const one = names.get(event.name) ?? { name: event.name, calls: 0, seconds: 0, bytes: 0 };
    names.set(event.name, { ...one, calls: one.calls + 1, seconds: one.seconds + event.end - event.begin, bytes: one.bytes + event.bytes });
  }
  const all = [...names.values()].reduce((sum, { seconds }) => sum + seconds, 0);
  return { ranks, operations: [...names.values()].map((one) => ({ ...one, share: all ? one.seconds / all : 0 })).sort((a, b) => b.seconds - a.seconds), begin: 0, end: span };
}
