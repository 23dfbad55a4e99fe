// Which algorithms can be chosen for an operation and N. Pure.

/**
 * Options for a select: [{ value, label, disabled }]. An algorithm with numbers (knomial:K) comes with those that make
 * sense for N; one that does not fit N is there but cannot be chosen.
 */
export function algorithmsFor(operation, n) {
  return operation.algorithms.flatMap(({ name, ranks, parameter }) => {
    const numbers = parameter ? numbersFor(name, n) : [''];
    const fits = parameter ? numbers.length > 0 : ranks.includes(n);
    if (!fits) return [{ value: name, label: name, disabled: true }];
    return numbers.map((number) => ({ value: spelled(name, number), label: spelled(name, number), disabled: false }));
  });
}

/** "knomial" and 4 -> "knomial:4". */
export function spelled(name, number) {
  return number === '' ? name : `${name}:${number}`;
}

/** The value if it can be chosen, or the first with numbers of that name; else null. */
export function legal(choices, value) {
  const open = choices.filter(({ disabled }) => !disabled);
  return (open.find((choice) => choice.value === value) ?? open.find((choice) => value && choice.value.startsWith(`${value}:`)))?.value ?? null;
}

function numbersFor(name, n) {
  const divisors = Array.from({ length: n }, (_, i) => i + 1).filter((d) => d > 1 && d < n && n % d === 0);
  if (name === 'two_level') return divisors;
  if (name === 'torus') return tori(n);
  return [2, 3, 4, 8].filter((k) => k <= Math.max(2, n));
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
