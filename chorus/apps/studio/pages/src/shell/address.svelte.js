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
  const now = parseAddress(location.hash);
  address.page = now.page;
  address.query = now.query;
});

// Browsers refuse more than some 100 changes of the address in 10 s, and a slider makes more.
let pending = 0;
function writeSoon() {
  pending ||= setTimeout(writeNow, 120);
}
function writeNow() {
  pending = 0;
  const hash = formatAddress(address.page, address.query);
  if (hash !== location.hash) history.replaceState(history.state, '', hash);
}
window.addEventListener('pagehide', () => pending && writeNow());

/** Sets one name of the query; null or undefined takes it out. */
export function setQuery(name, value) {
  if (value === null || value === undefined) delete address.query[name];
  else address.query[name] = String(value);
  writeSoon();
}

/** The link to a page with a query; language and theme go along. */
export function linkTo(page, query = {}) {
  const kept = Object.fromEntries(shared.filter((name) => name in address.query).map((name) => [name, address.query[name]]));
  return formatAddress(page, { ...query, ...kept });
}

/**
 * The state of a page: an object with the names of `defaults`, read from the address and written to it. The type
 * of a default (string, number, boolean) is the type of the value; what cannot be read is the default, and
 * defaults are not written. Example: const chosen = pageState({ op: 'all_reduce', n: 4 }); chosen.n = 5.
 */
export function pageState(defaults) {
  const state = {};
  for (const [name, standard] of Object.entries(defaults)) {
    Object.defineProperty(state, name, {
      enumerable: true,
      get: () => read(address.query[name], standard),
      set: (value) => setQuery(name, value === standard ? null : value === true ? 1 : value === false ? 0 : value),
    });
  }
  return state;
}

function read(text, standard) {
  if (text === undefined) return standard;
  if (typeof standard === 'boolean') return text === '1' || text === 'true';
  if (typeof standard !== 'number') return text;
  const number = Number(text);
  return text.trim() !== '' && Number.isFinite(number) ? number : standard;
}
