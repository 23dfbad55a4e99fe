// Which algorithms can be chosen for an operation and N. Pure.

/**
 * Options for a select: [{ value, label, disabled, form }]. An algorithm with numbers (knomial:K, its form K) comes with some that
 * make sense for N; one that does not fit N is there but cannot be chosen.
 */
export function algorithmsFor(operation, n) {
  return operation.algorithms.flatMap(({ name, ranks, parameter }) => {
    const base = baseOf(name);
    if (!parameter) return [{ value: name, label: name, disabled: !ranks.includes(n), form: null }];
    const numbers = numbersFor(base, n);
    if (!numbers.length) return [{ value: base, label: base, disabled: true, form: parameter.form }];
    return numbers.map((number) => ({ value: `${base}:${number}`, label: `${base}:${number}`, disabled: false, form: parameter.form }));
  });
}

/** "knomial:4" -> "knomial". */
export function baseOf(algorithm) {
  return algorithm.replace(/:.*/, '');
}

/** The value if it can be chosen, the first with numbers of that name if it has none, itself if its numbers are typed; else null. */
export function legal(choices, value) {
  const open = choices.filter(({ disabled }) => !disabled);
  if (!value) return null;
  if (open.some((choice) => choice.value === value)) return value;
  const family = choices.find((choice) => choice.form && baseOf(choice.value) === baseOf(value));
  if (!family) return null;
  return value.includes(':') ? value : open.find((choice) => baseOf(choice.value) === value)?.value ?? null;
}

/** The choices, and with them one whose numbers were typed. */
export function withTyped(choices, value) {
  return !value || choices.some((choice) => choice.value === value) ? choices : [...choices, { value, label: value, disabled: false }];
}

function numbersFor(name, n) {
  if (name === 'torus') return tori(n);
  const most = name === 'knomial' ? Math.max(2, n) : n - 1;
  return [2, 3, 4, 8].filter((k) => k <= most && (name !== 'hierarchical' || n % k === 0));
}

/** All boxes of n ranks with two or three sides over 1, e.g. 12 -> 2x6, 3x4, 4x3, 6x2, 2x2x3, ... */
function tori(n) {
  const boxes = [];
  for (let a = 2; a < n; a++) {
    if (n % a !== 0 || n / a < 2) continue;
    boxes.push(`${a}x${n / a}`);
  }
  for (let a = 2; a * a * a <= n; a++) {
    for (let b = a; n % a === 0 && a * b * b <= n; b++) if ((n / a) % b === 0) boxes.push(`${n / a / b}x${b}x${a}`);
  }
  return boxes;
}
