// Numbers with their units, as the tool writes them: powers of 1024 with an i (KiB), of 1000 without (KB). Pure.

/** 1048576 -> "1,048,576"; digits are grouped alike in both languages. */
export function whole(n) {
  if (!Number.isFinite(n)) return '–';
  return Math.round(n).toLocaleString('en-US');
}

/** At most `digits` significant digits and no trailing zeros; no exponent. 62.2222 -> "62.2". */
export function significant(x, digits = 3) {
  if (!Number.isFinite(x)) return '–';
  if (x === 0) return '0';
  const rounded = Number(x.toPrecision(digits));
  return Math.abs(rounded) >= 1e15
    ? rounded.toExponential(digits - 1)
    : rounded.toLocaleString('en-US', { maximumSignificantDigits: digits });
}

function scaled(x, base, units, digits) {
  if (!Number.isFinite(x)) return '–';
  let power = 0;
  while (power < units.length - 1 && Math.abs(Number(x.toPrecision(digits))) >= base) {
    x /= base;
    power++;
  }
  return `${significant(x, Math.max(digits, String(Math.trunc(Math.abs(x))).length))} ${units[power]}`;
}

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const decimal = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** Bytes for people: 6291456 -> "6 MiB", 16e9 -> "16 GB": binary, unless three decimal digits say it all and binary does not. */
export function bytes(n, digits = 4) {
  return n >= 1000 && isRound(n, 1000) && !isRound(n, 1024) ? scaled(n, 1000, decimal, digits) : scaled(n, 1024, binary, digits);
}
function isRound(n, base) {
  while (n >= base) n /= base;
  return Number(n.toPrecision(3)) === n;
}

/** Bytes to the last one: 6291456 -> "6,291,456 B". */
export function exactBytes(n) {
  return `${whole(n)} B`;
}

/** 0.0622 -> "62.2 ms", 4.5e-8 -> "45 ns". */
export function seconds(s, digits = 3) {
  if (s === 0) return '0 s';
  if (!Number.isFinite(s)) return '–';
  const size = Math.abs(Number(s.toPrecision(digits)));
  for (const [unit, one] of [['s', 1], ['ms', 1e-3], ['us', 1e-6]]) {
    if (size >= one) return `${significant(s / one, digits)} ${unit === 'us' ? 'µs' : unit}`;
  }
  return `${significant(s / 1e-9, digits)} ns`;
}

/** 4.5e11 -> "450 GB/s". Say its direction with directed(). */
export function rate(bytesPerSecond, digits = 4) {
  return Number.isFinite(bytesPerSecond) ? `${scaled(bytesPerSecond, 1000, decimal, digits)}/s` : '–';
}

/** The same with its direction, in which all bandwidths of Chorus are given. */
export function directed(bytesPerSecond, language, digits = 4) {
  return language === 'zh' ? `${rate(bytesPerSecond, digits)}（每个方向）` : `${rate(bytesPerSecond, digits)} per direction`;
}

/** 536870912 -> "537 MFLOP". */
export function flop(n, digits = 3) {
  return scaled(n, 1000, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP', 'EFLOP'], digits);
}

/** 0.123 -> "12.3 %". */
export function percent(share, digits = 3) {
  return `${significant(100 * share, digits)} %`;
}

/** Reads "64", "4KiB", "16 GB", "1.5MiB"; NaN if it is none. The server has the last word on what is legal. */
export function parseBytes(text) {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([KMGTP]?)(i?)B?\s*$/i.exec(text);
  if (!match) return NaN;
  const power = ' KMGTP'.indexOf(match[2].toUpperCase() || ' ');
  return Number(match[1]) * (match[3] ? 1024 : 1000) ** power;
}
