// The formats of what the server can refuse to a page, read from the sources that refuse it. Pure but for reading them.
import { readFileSync } from 'node:fs';

const root = new URL('../../../../../../', import.meta.url).pathname;

// Sources that answer what pages ask: catalogue, schedule, primitive, layout, estimate of collectives, product, hardware, measured, runs, run.
// (No page asks `simulate`, nor `estimate` of products, layers and training; none names a file of a machine, of a catalogue or of a log.)
export const sources = [
  ...['choose_schedule', 'estimate_answer', 'explain_answer', 'gradient_answer', 'layout_answer', 'machine_choice', 'option_rules', 'primitive_answer', 'schedule_answer'].map((name) => `apps/answer/${name}`),
  ...['endpoints', 'field', 'handler', 'runs', 'http_server'].map((name) => `apps/studio/server/${name}`),
  ...['block', 'mesh', 'notation', 'spec'].map((name) => `mesh/${name}`),
  'topology/machine', 'topology/topology', 'topology/find_hardware', 'base/rate', 'base/units', 'base/scanner',
  'algorithm/find_algorithm', 'algorithm/knomial_tree', 'algorithm/node_map', 'algorithm/torus',
  ...['chain', 'compute', 'placement', 'product_text', 'ways'].map((name) => `shard/${name}`),
  ...['catalogue', 'direct', 'formula', 'leaders', 'nccl_model', 'phases', 'ring', 'timetable', 'torus', 'two_level'].map((name) => `cost/formula/${name}`),
].map((name) => `chorus/${name}.cc`);

// What of them comes to no page, by its beginning.
const others = [
  [/^--root \{\} is out of range/, 'the page keeps a root below N'],
  [/^--(bytes \{\} are \{\} sizes|bytes is missing; say how much is read|measured is a time of one size)/, 'the page asks for one size, and never `read`'],
  [/^\{\} is about the machine of --on/, 'the page sends no option of a machine without one'],
  [/^(port \{\}|--host)/, 'said when the server starts'],
  [/^a loop over/, 'sizes are refused before, where they stand'],
  [/^(a torus has|a torus axis of \{\} devices;|a \{\} has no axes|the axes make|leaf switches|an oversubscription|\{\} between nodes|\{\} of \{\}; give 1 or more of each|a torus axis of \{\} devices wraps|a mesh of)/, 'of machine files'],
  [/^(a chain of|no way leads to|the result \{\} cannot lie as)/, 'the text of a product is refused before, where it stands'],
  [/^\{\} is none of the algorithms that are compared|^\{\} ranks; give 1 or more|^a size of \{\} bytes|^root \{\} of \{\} ranks/, 'fields have limits'],
  [/^'\{\}' is no axis name|^dimension \{\} of \{\} has no name|^\{\} has no dimension \{\}$|^axis \{\} is used twice: \{\} and/, 'the notation refuses it before'],
  [/^a node of \{\} has \{\}, not \{\}; \{\}$/, 'its three advices are in refusals.test.mjs'],
  [/^(\{\}|\\n  )$/, 'no text of its own'],
  [/^a defect of chorus|^'\{\}' is not where chorus studio runs|^only GET and POST|^pages are read|^a page of another site|^the request (is nested|is no JSON|has \{\} bytes|is larger)|^there is no endpoint|^a request is a JSON object|^there is no field|^the address is longer|^this is no request/, 'pages do not ask so'],
].map(([pattern]) => pattern);

const calls = /\b(?:InvalidArgument|Unsupported|NotFound|ResourceExhausted|ErrorAt|Error|Refuse|Refusal)\s*[({]/g;
const literal = /"((?:[^"\\]|\\.)*)"/y;

// The text between the bracket at `open` and its partner.
function inside(text, open) {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === '"') {
      literal.lastIndex = i;
      i += literal.exec(text)[0].length - 1;
    } else if ('({'.includes(text[i])) depth++;
    else if (')}'.includes(text[i]) && --depth === 0) return text.slice(open + 1, i);
  }
  return '';
}

// The first literal of an argument list, with those that follow it at once.
function firstText(text) {
  const found = /"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*/.exec(text);
  return found && [...found[0].matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, part]) => part).join('').replaceAll('\\"', '"');
}

/** [{ source, format }]: "{} sizes are too many; give at most {}". */
export function formats() {
  return sources.flatMap((source) => {
    let text;
    try {
      text = readFileSync(root + source, 'utf8').replace(/^\s*\/\/.*$/gm, '');
    } catch {
      return [];
    }
    return [...text.matchAll(calls)].map((match) => firstText(inside(text, match.index + match[0].length - 1))?.replace(/^ /, '{} '))  // what it is about comes first
      .filter((format) => format && /[a-z]{2} /.test(format) && !others.some((pattern) => pattern.test(format)))
      .map((format) => ({ source, format }));
  });
}

/** What a page could be told: the format with names for its values, then with numbers, and all mixtures. */
export function fillings(format) {
  const text = format.replace(/--([a-z][a-z-]*)/g, (_, name) => name.replaceAll('-', '_')).replaceAll('{{', '\u0001').replaceAll('}}', '\u0002');
  const count = text.match(/\{(?::[^}]*)?\}/g)?.length ?? 0;
  const kinds = ['X', '3', 'A[I_X, J]', ...(count <= 4 ? ['twice', '3 and 3', 'true or false', 'a product is written A * B -> C', 'the size of axis X'] : [])];
  return Array.from({ length: kinds.length ** Math.min(count, 7) }, (_, mixture) => {
    let rest = mixture;
    return text.replace(/\{(?::[^}]*)?\}/g, () => {
      const value = kinds[rest % kinds.length];
      rest = Math.floor(rest / kinds.length);
      return value;
    }).replaceAll('\u0001', '{').replaceAll('\u0002', '}');
  });
}
