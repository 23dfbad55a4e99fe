// Where a chart's axis has its marks. Pure.

/** Marks of a logarithmic axis from low to high (> 0): at most about `count`, at powers of `base` (10 or 2). */
export function logTicks(low, high, base, count) {
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const strides = base === 2 ? [1, 2, 5, 10, 20] : [1, 2, 3, 6, 12];
  const marks = (stride) => Math.floor(last / stride) - Math.ceil(first / stride) + 1;
  const stride = strides.find((stride) => marks(stride) <= count) ?? strides.at(-1);
  const ticks = [];
  for (let power = Math.ceil(first / stride) * stride; power <= last; power += stride) ticks.push(base ** power);
  if (last - first >= 2 || base === 2) return ticks;
  return [1, 2, 5].flatMap((digit) => [first - 1, first, last].map((power) => digit * 10 ** power))
    .filter((x, i, all) => x >= low && x <= high && all.indexOf(x) === i).sort((a, b) => a - b);
}

/** Marks of a linear axis: 0, 1, 2 or 5 times a power of ten apart. */
export function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((digit) => digit * power >= rough) * power;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(k * step + 0);
  return ticks;
}

/** Maps [low, high] of values to [from, to] of pixels, by logarithm if `log`. */
export function scale(low, high, from, to, log) {
  const f = log ? Math.log : (x) => x;
  const span = f(high) - f(low) || 1;
  return (x) => from + ((f(x) - f(low)) / span) * (to - from);
}
