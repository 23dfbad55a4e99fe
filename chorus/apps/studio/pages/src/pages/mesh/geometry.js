// Where the devices of a mesh stand on the page, and where a block lies in the picture of the array. Pure.

/**
 * A mesh of `axes` ([{ axis, size }], major to minor) in `width` pixels: the last axis goes to the right, the one before it down,
 * the next to the right again around those grids, and so on. One long axis alone is broken into lines. Answers { width, height,
 * tile: { w, h }, at(rank) -> { x, y }, labels: [{ x, y, text, anchor }] }; `tall` is height / width of a tile.
 */
export function placeDevices(axes, width, tall) {
  const used = axes.length ? axes : [{ axis: '', size: 1 }];
  const line = used.length === 1 ? Math.min(used[0].size, width > 560 ? 8 : 4) : null;
  const across = [], down = [];
  [...used].reverse().forEach((axis, i) => (i % 2 ? down : across).push(axis));
  const product = (list) => list.reduce((all, { size }) => all * size, 1);
  const columns = line ?? product(across);
  const rows = line ? Math.ceil(used[0].size / line) : product(down);

  const grouped = !line && across.length > 1;
  const left = 34, top = grouped ? 44 : 26;
  const gapOf = (level) => [6, 18, 30, 40][Math.min(level, 3)];
  const space = (list) => list.reduce(({ sum, inside }, { size }, level) => ({ sum: sum * size + (size - 1) * gapOf(level), inside: inside * size }), { sum: 0, inside: 1 }).sum;
  const w = Math.max(16, Math.min(columns > 4 ? 140 : columns > 2 ? 200 : 300, (width - left - (line ? (columns - 1) * 6 : space(across))) / columns));
  const h = Math.max(12, Math.min(rows > 2 ? 190 : 240, w * tall));

  // Place of coordinate k along a list of axes, minor first.
  const offset = (list, coordinates, edge) => {
    let at = 0, extent = edge;
    list.forEach(({ axis, size }, level) => {
      at += coordinates[axis] * (extent + gapOf(level));
      extent = extent * size + gapOf(level) * (size - 1);
    });
    return { at, extent };
  };
  const zero = Object.fromEntries(used.map(({ axis }) => [axis, 0]));
  const at = (device) => line
    ? { x: left + (device.rank % line) * (w + 6), y: top + Math.floor(device.rank / line) * (h + 6) }
    : { x: left + offset(across, device.coordinates, w).at, y: top + offset(down, device.coordinates, h).at };
  const labels = [];
  if (!line) {
    const name = (list, along) => {
      const { axis, size } = list[0] ?? {};
      if (!axis) return;
      for (let k = 0; k < size; k++) {
        const edge = along ? w : h;
        const middle = k * (edge + gapOf(0)) + edge / 2;
        if (edge < 18 && k % 4) continue;
        labels.push(along ? { x: left + middle, y: top - 9, text: `${axis} ${k}`, anchor: 'middle' } : { x: left - 7, y: top + middle + 4, text: `${axis} ${k}`, anchor: 'end' });
      }
    };
    if (grouped) {
      const inside = across[0].size * (w + gapOf(0)) - gapOf(0);
      for (let k = 0; k < across[1].size; k++) labels.push({ x: left + k * (inside + gapOf(1)) + inside / 2, y: 14, text: `${across[1].axis} ${k}`, anchor: 'middle' });
    }
    name(across, true);
    name(down, false);
  } else {
    labels.push({ x: left, y: top - 9, text: `${used[0].axis} 0–${used[0].size - 1} →`, anchor: 'start' });
  }
  return {
    tile: { w, h }, at, labels,
    width: Math.max(width, left + (line ? columns * (w + 6) : offset(across, zero, w).extent) + 2),
    height: top + (line ? rows * (h + 6) : offset(down, zero, h).extent) + 4,
  };
}

/**
 * The rectangle of a device's block in the unit square of the array: the first dimension goes down, the second to the right,
 * and each further one subdivides the blocks of the one before, to the right. layout.dims as the server sends it.
 * Answers { x, y, w, h }, each 0..1.
 */
export function blockOf(layout, device) {
  const part = (dim, d) => ({ from: dim.size ? device.begin[d] / dim.size : 0, size: dim.size ? device.local_shape[d] / dim.size : 0 });
  const { dims } = layout;
  if (dims.length === 0) return { x: 0, y: 0, w: 1, h: 1 };
  if (dims.length === 1) {
    const { from, size } = part(dims[0], 0);
    return { x: from, y: 0, w: size, h: 1 };
  }
  const rows = part(dims[0], 0);
  let x = 0, w = 1;
  for (let d = 1; d < dims.length; d++) {
    const { from, size } = part(dims[d], d);
    x += from * w;
    w *= size;
  }
  return { x, y: rows.from, w, h: rows.size };
}

/** Height / width of the picture of an array: of its shape, held within what can be looked at. */
export function shapeOf(layout) {
  const [rows = 1, ...others] = layout.global_shape;
  if (layout.global_shape.length < 2) return 0.45;
  const columns = others.reduce((all, size) => all * size, 1);
  return Math.max(0.7, Math.min(1.2, (Math.max(1, rows) / Math.max(1, columns)) ** 0.4));
}

/** The different blocks, each once: [{ block, box, ranks, device }], in the order of their first device. */
export function blocksOf(layout) {
  const blocks = new Map();
  for (const device of layout.devices) {
    const known = blocks.get(device.block);
    if (known) known.ranks.push(device.rank);
    else blocks.set(device.block, { block: device.block, box: blockOf(layout, device), ranks: [device.rank], device });
  }
  return [...blocks.values()];
}
