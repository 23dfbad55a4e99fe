// From the answer to `schedule`, everything the pictures need: what each cell holds after each step, and what travels. Pure.

/**
 * steps: the rounds in which messages travel; what ranks do by themselves before the first message belongs to the start.
 * states[k] (k = 0..steps.length) lists cells by rank * blocks + block: null, or { count, ranks, final }.
 * steps[k].messages have `payload`, for each block what is sent: { count, final }.
 */
export function replay(schedule) {
  const { blocks } = schedule;
  const at = (rank, block) => rank * blocks + block;
  const memory = new Map(schedule.start.map((item) => [place(item), item]));
  let state = Array(schedule.ranks * blocks).fill(null);
  for (const cell of schedule.cells) state[at(cell.rank, cell.block)] = cell;

  const states = [];
  const steps = [];
  let bytes = 0;
  const before = [];
  schedule.steps.forEach((step, k) => {
    const silent = k === 0 && step.messages.length === 0 && schedule.steps.length > 1;
    if (!silent) {
      states.push(state);
      const messages = step.messages.map((message) => ({
        ...message,
        late: message.arrives > k,
        payload: message.blocks.map((block, i) => payload(memory.get(`${message.from} ${message.read[i]}`), state[at(message.from, block)])),
      })).sort((a, b) => a.from - b.from || a.to - b.to);
      bytes += step.bytes;
      steps.push({ ...step, messages, soFar: bytes });
    } else {
      before.push(...step.locals);
    }
    state = state.slice();
    for (const cell of step.cells) state[at(cell.rank, cell.block)] = cell;
    for (const item of step.writes) memory.set(place(item), item);
  });
  states.push(state);
  return { schedule, states, steps, before };
}

/** What is sent: what lies at the place that the message reads. Where it is the final cell, it is final itself. */
function payload(item, cell) {
  const { count = 0, final = false } = item ?? cell ?? {};
  return { count, final: final || Boolean(cell?.final && cell.count === count) };
}

/** The name by which messages read it: "1 in[3]", "1 acc[0 : 3]". */
function place({ rank, buffer, slot, block }) {
  return buffer === 'in' || buffer === 'out' ? `${rank} ${buffer}[${block}]` : `${rank} ${buffer}[${slot} : ${block}]`;
}

/** How many cells of a state are final, and how many are in the end. */
export function finals({ states }, k) {
  const count = (state) => state.filter((cell) => cell?.final).length;
  return { now: count(states[Math.min(k, states.length - 1)]), end: count(states.at(-1)) };
}

/** Every pair of ranks that exchanges bytes or signals at some time, each once, the lower first. */
export function edges({ steps }) {
  const seen = new Map();
  for (const { messages } of steps) {
    for (const { from, to } of messages) seen.set(Math.min(from, to) * 1000 + Math.max(from, to), [Math.min(from, to), Math.max(from, to)]);
  }
  return [...seen.values()];
}
