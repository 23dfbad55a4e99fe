import { post } from './api.js';

/** How many questions are under way, of all pages: `main` is busy while there are any. */
export const asking = $state({ count: 0 });
// They are counted here: what ends an effect reads of a $state what it was before the change.
const underWay = new Set();

function begins(question) {
  underWay.add(question);
  asking.count = underWay.size;
}
function ends(question) {
  if (underWay.delete(question)) asking.count = underWay.size;
}

// Answers to the last questions: stepping a slider back shows at once what was seen before.
const kept = new Map();
const room = 40;

function keep(key, answer) {
  kept.delete(key);
  kept.set(key, answer);
  if (kept.size > room) kept.delete(kept.keys().next().value);
}

/** Asks again, a little later, while the server says that too much is asked at once. */
async function patient(name, question, signal) {
  for (let wait = 200; ; wait *= 3) {
    try {
      return await post(name, question, signal);
    } catch (error) {
      if ((error.status !== 429 && error.status !== 503) || wait > 2000) throw error;
    }
    await new Promise((done) => setTimeout(done, wait));
  }
}

/**
 * Asks `name` whenever question() changes, and holds the newest answer. Called while a component is set up:
 * const schedule = ask('schedule', () => ({ op: state.op, ranks: state.n })); then schedule.answer (null at first;
 * while a new one is under way and after a refusal the last), schedule.error (ApiError or null), schedule.busy.
 * A question that is null is not asked. Answers that come late are dropped, and while a slider moves
 * at most one question every `pause` ms is sent.
 */
export function ask(name, question, { pause = 40 } = {}) {
  let answer = $state.raw(null);
  let error = $state.raw(null);
  let busy = $state(false);
  let last = 0;

  const key = $derived.by(() => {
    const now = question();
    return now === null ? null : JSON.stringify(now);
  });

  $effect(() => {
    const wanted = key;
    if (wanted === null) {
      busy = false;
      return;
    }
    const known = kept.get(`${name} ${wanted}`);
    if (known) {
      answer = known;
      error = null;
      busy = false;
      return;
    }
    const controller = new AbortController();
    busy = true;
    begins(controller);
    const send = async () => {
      last = performance.now();
      try {
        const found = await patient(name, JSON.parse(wanted), controller.signal);
        keep(`${name} ${wanted}`, found);
        if (controller.signal.aborted) return;
        answer = found;
        error = null;
      } catch (refusal) {
        if (controller.signal.aborted) return;
        error = refusal;
      }
      busy = false;
      ends(controller);
    };
    const timer = setTimeout(send, Math.max(0, last + pause - performance.now()));
    return () => {
      clearTimeout(timer);
      controller.abort();
      ends(controller);
    };
  });
  return {
    get answer() {
      return answer;
    },
    get error() {
      return error;
    },
    get busy() {
      return busy;
    },
  };
}
