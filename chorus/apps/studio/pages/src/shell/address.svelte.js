// The address is the state: `#/algorithms?op=all_reduce&n=4&step=3&lang=zh&theme=dark` shows the same thing to
// whoever opens it. A page reads and writes its part through pageState(); nothing else keeps what the user chose.

/** Splits "#/page?a=1" into its page and its query. Pure. */
export function parseAddress(hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { page: path, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The inverse of parseAddress. Characters of the notation stay readable. */
export function formatAddress(page, query) {
  const text = Object.entries(query)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value).replace(/%(2C|3A|2F|5B|5D|20)/g, readable)}`)
    .join('&');
  return `#/${page}${text ? `?${text}` : ''}`;
}
const readable = (code) => ({ '%2C': ',', '%3A': ':', '%2F': '/', '%5B': '[', '%5D': ']', '%20': '+' })[code];

/** Names that belong to every page and go along when the page changes. */
const shared = ['lang', 'theme'];

/** What the address says now. `page` and `query` are reactive. */
export const address = $state(parseAddress(location.hash));

window.addEventListener('hashchange', () => {
  clearTimeout(pending);
  pending = 0;
  changed.clear();
  const now = parseAddress(location.hash);
  address.page = now.page;
  address.query = now.query;
});

/** What moves by itself, or is only looked at: going back does not go through it. */
const passing = new Set(['step', 'speed', 'device', 'lang', 'theme']);

/**
 * Whether a change of `names` at `now` (ms) belongs to the edit before it, `last`, and so takes its place in the history: the
 * same names, and a slider that is still held or a moment later. Pure.
 */
export function continues(last, names, now, held) {
  return last !== null && last.names === names && (held || now - last.at < 1000);
}

// Browsers refuse more than some 100 changes of the address in 10 s, and a slider makes more.
let pending = 0;
const changed = new Set();
let last = null;
let held = false;
for (const [event, now] of [['pointerdown', true], ['pointerup', false], ['pointercancel', false]]) {
  window.addEventListener(event, () => (held = now), { capture: true, passive: true });
}
function writeSoon() {
  pending ||= setTimeout(writeNow, 120);
}
function writeNow() {
  pending = 0;
  const names = [...changed].filter((name) => !passing.has(name)).sort().join();
  changed.clear();
  const hash = formatAddress(address.page, address.query);
  if (hash === location.hash) return;
  const now = performance.now();
  if (names === '' || continues(last, names, now, held)) history.replaceState(history.state, '', hash);
  else history.pushState(null, '', hash);
  if (names !== '') last = { names, at: now };
}
window.addEventListener('pagehide', () => pending && writeNow());

/** Sets one name of the query; null or undefined takes it out. */
export function setQuery(name, value) {
  if (value === null || value === undefined) delete address.query[name];
  else address.query[name] = String(value);
  changed.add(name);
  writeSoon();
}

/** The link to a page with a query; language and theme go along. */
export function linkTo(page, query = {}) {
  const kept = Object.fromEntries(shared.filter((name) => name in address.query).map((name) => [name, address.query[name]]));
  return formatAddress(page, { ...query, ...kept });
}

/**
 * The state of a page: an object with the names of `defaults`, read from the address and written to it. The type
 * of a default (string, number, boolean) is the type of the value; what cannot be read, or what the function of that name
 * in `rules` does not take, is the default and told by ignored(). Defaults are not written.
 * Example: const chosen = pageState({ op: 'all_reduce', n: 4 }, { n: within(2, 16) }); chosen.n = 5.
 */
export function pageState(defaults, rules = {}) {
  open.now = { page: address.page, defaults, rules };
  const state = {};
  for (const [name, standard] of Object.entries(defaults)) {
    Object.defineProperty(state, name, {
      enumerable: true,
      get: () => read(address.query[name], standard, rules[name]) ?? standard,
      set: (value) => setQuery(name, value === standard ? null : value === true ? 1 : value === false ? 0 : value),
    });
  }
  return state;
}

/** Rules: a whole number of least..most; one of a list, which may come late (then all is taken). */
export const within = (least, most) => (value) => Number.isInteger(value) && value >= least && value <= most;
export const oneOf = (list) => (value) => {
  const all = typeof list === 'function' ? list() : list;
  return all.length === 0 || all.includes(value);
};

const open = $state({ now: null });

/** What the address says and the page does not know: [{ name, text }]. Reactive. */
export function ignored() {
  const { page, defaults, rules } = open.now ?? {};
  if (page !== address.page) return [];
  const all = { lang: '', theme: '', ...defaults };
  const known = { lang: oneOf(['en', 'zh']), theme: oneOf(['system', 'light', 'dark']), ...rules };
  return Object.entries(address.query).filter(([name, text]) => !(name in all) || read(text, all[name], known[name]) === null).map(([name, text]) => ({ name, text }));
}

/** The value that `text` is, null if it is none. */
function read(text, standard, rule) {
  if (text === undefined) return standard;
  const value = typeof standard === 'boolean' ? { 1: true, true: true, 0: false, false: false }[text] : typeof standard === 'number' ? (text.trim() === '' ? NaN : Number(text)) : text;
  if (value === undefined || (typeof standard === 'number' && !Number.isFinite(value))) return null;
  return value === standard || !rule || rule(value) ? value : null;
}
