// The machines that the slider of ranks goes through: sizes of one hardware, by growing number of ranks. Pure.

/** "h100-8x16" -> 128, "v5e-4x4" -> 16, "h100" -> NaN. */
export function ranksOf(on) {
  const sizes = /-(\d+(?:x\d+)*)$/.exec(on)?.[1];
  return sizes ? sizes.split('x').reduce((product, size) => product * Number(size), 1) : NaN;
}

/** "h100-8x16" -> "h100". */
export function hardwareOf(on) {
  return on.replace(/-\d+(x\d+)*$/, '');
}

const most = 256;
const torusAxes = {
  2: ['4', '2x2', '4x2', '4x4', '8x4', '8x8', '16x8', '16x16'],
  3: ['4', '2x2x2', '4x2x2', '4x4x2', '4x4x4', '8x4x4', '8x8x4'],
};

/**
 * Machines of an entry of `hardware`, e.g. h100-2, ..., h100-8, h100-8x2, ..., h100-8x32; with `now`, the machine in use,
 * in its place among them.
 */
export function machinesOf(entry, now) {
  const { name, fabric, node, torus_axes: axes, figures } = entry;
  let sizes;
  if (fabric === 'torus') {
    sizes = torusAxes[axes] ?? torusAxes[2];
  } else {
    const few = Math.min(node, 8);
    sizes = Array.from({ length: few - 1 }, (_, i) => String(i + 2));
    for (let n = 16; n < node && n <= most; n *= 2) sizes.push(String(n));
    if (node > few && node <= most) sizes.push(String(node));
    if (figures.nics) for (let nodes = 2; node * nodes <= most; nodes *= 2) sizes.push(`${node}x${nodes}`);
  }
  const all = sizes.map((size) => `${name}-${size}`);
  if (now && hardwareOf(now) === name && !all.includes(now) && ranksOf(now) > 0) all.push(now);
  return all.sort((a, b) => ranksOf(a) - ranksOf(b) || a.split('x').length - b.split('x').length);
}

/** The machine of `entry` whose number of ranks is nearest to that of `like`. */
export function machineLike(entry, like) {
  const wanted = ranksOf(like) || 8;
  const far = (on) => Math.abs(Math.log(ranksOf(on) / wanted));
  return machinesOf(entry).reduce((best, on) => (far(on) < far(best) ? on : best));
}
