// Where ranks, cells and the ways between them stand. Pure.

/**
 * The picture of `ranks` ranks with `blocks` cells each, `width` wide. view: 'ring' puts the ranks on an ellipse, rank 0 on top,
 * clockwise; 'columns' gives each a column. `square`: the blocks are a table, ranks x ranks, as in all_to_all.
 * Answers { width, height, cell (its edge), cards: [{ x, y, w, h }], head (height of a card's title), at(rank, block) -> centre of a cell }.
 */
export function place({ view, ranks, blocks, square, width: given }) {
  const width = Math.max(280, given, square ? 54 * ranks : 0);  // narrower pages scroll
  return view === 'columns' && !square && blocks > 0 ? placeColumns(ranks, blocks, width) : placeRing(ranks, blocks, square, width);
}

function columnsOf(blocks, ranks, square) {
  if (square) return ranks;
  if (blocks <= 4) return Math.max(1, blocks);
  return blocks <= 8 ? Math.ceil(blocks / 2) : Math.ceil(Math.sqrt(blocks));
}

function placeRing(ranks, blocks, square, width) {
  const height = Math.round(width > 560 ? Math.min(620, Math.max(430, width * 0.62)) : Math.max(340, width * 1.05));
  const columns = columnsOf(blocks, ranks, square);
  const rows = Math.max(1, Math.ceil(blocks / columns));
  const edge = width > 560 ? 8 : 3;
  let best;
  for (let cell = blocks <= 1 ? 54 : 46; ; cell -= cell > 12 ? 1 : 0.5) {
    const gap = cell > 20 ? 4 : cell > 8 ? 2 : 0.75;
    const pad = cell > 20 ? 8 : 4;
    const head = cell > 20 ? 20 : 15;
    const w = blocks === 0 ? Math.max(22, Math.min(44, cell)) : Math.max(26, columns * (cell + gap) - gap + 2 * pad);
    const h = blocks === 0 ? Math.max(18, Math.min(34, cell * 0.8)) : rows * (cell + gap) - gap + 2 * pad + head;
    const centres = Array.from({ length: ranks }, (_, r) => {
      const angle = ((2 * r) / ranks - 0.5) * Math.PI;
      return { x: width / 2 + (width / 2 - w / 2 - edge) * Math.cos(angle), y: height / 2 + (height / 2 - h / 2 - edge) * Math.sin(angle) };
    });
    best = { cell, gap, pad, head, w, h, centres };
    if (cell <= 3 || apart(centres, w, h, cell > 20 && width > 560 ? 26 : 9)) break;
  }
  const { cell, gap, pad, head, w, h, centres } = best;
  const cards = centres.map(({ x, y }) => ({ x: x - w / 2, y: y - h / 2, w, h }));
  const inner = columns * (cell + gap) - gap;
  return {
    width, height, cell, cards, head, pad,
    at: (rank, block) => ({
      x: cards[rank].x + w / 2 - inner / 2 + (block % columns) * (cell + gap) + cell / 2,
      y: cards[rank].y + head + pad + Math.floor(block / columns) * (cell + gap) + cell / 2,
    }),
  };
}

function apart(centres, w, h, gap) {
  return centres.every((a, i) => centres.every((b, j) => j <= i || Math.abs(a.x - b.x) >= w + gap || Math.abs(a.y - b.y) >= h + gap));
}

function placeColumns(ranks, blocks, width) {
  const left = 26;
  const head = 24;
  const column = Math.min(96, (width - left) / ranks);
  const cell = Math.min(40, column - (width > 620 ? 12 : 5), 520 / blocks);
  const gap = cell > 20 ? 6 : 3;
  const pad = 6;
  const h = head + blocks * (cell + gap) + pad;
  const cards = Array.from({ length: ranks }, (_, r) => ({ x: left + r * column + (column - cell) / 2 - pad / 2, y: 18, w: cell + pad, h }));
  return {
    width, height: h + 30, cell, cards, head, pad,
    rows: Array.from({ length: blocks }, (_, b) => ({ x: left - 8, y: 18 + head + b * (cell + gap) + cell / 2, block: b })),
    at: (rank, block) => ({ x: cards[rank].x + cards[rank].w / 2, y: 18 + head + block * (cell + gap) + cell / 2 }),
  };
}

/** A bent way from a to b: it keeps to the right, so that both directions can be told apart. */
export function way(a, b, bow = 0.14) {
  const dx = b.x - a.x, dy = b.y - a.y;
  return [a, { x: (a.x + b.x) / 2 - dy * bow, y: (a.y + b.y) / 2 + dx * bow }, b];
}

/** The point of a way at t in 0..1. */
export function along([a, c, b], t) {
  const u = 1 - t;
  return { x: u * u * a.x + 2 * u * t * c.x + t * t * b.x, y: u * u * a.y + 2 * u * t * c.y + t * t * b.y };
}

/** The way between two cards, from border to border, as SVG path, with its arrow head. Null if the cards touch. */
export function arrow(from, to, size = 7, bow = 0.14) {
  const centre = (card) => ({ x: card.x + card.w / 2, y: card.y + card.h / 2 });
  const full = way(centre(from), centre(to), bow);
  const inside = (card, p) => p.x > card.x - 4 && p.x < card.x + card.w + 4 && p.y > card.y - 4 && p.y < card.y + card.h + 4;
  let t0 = 0, t1 = 1;
  while (t0 < 1 && inside(from, along(full, t0))) t0 += 0.02;
  while (t1 > 0 && inside(to, along(full, t1))) t1 -= 0.02;
  if (t0 >= t1) return null;
  const [a, c, b] = part(full, t0, t1);
  const angle = Math.atan2(b.y - c.y, b.x - c.x);
  const corner = (turn) => `${(b.x - size * Math.cos(angle + turn)).toFixed(1)},${(b.y - size * Math.sin(angle + turn)).toFixed(1)}`;
  return {
    path: `M${a.x.toFixed(1)} ${a.y.toFixed(1)}Q${c.x.toFixed(1)} ${c.y.toFixed(1)} ${b.x.toFixed(1)} ${b.y.toFixed(1)}`,
    head: `${b.x.toFixed(1)},${b.y.toFixed(1)} ${corner(0.42)} ${corner(-0.42)}`,
  };
}

/** The piece of a way from t0 to t1. */
function part(full, t0, t1) {
  const [a, c, b] = full;
  const mix = (p, q, t) => ({ x: p.x + (q.x - p.x) * t, y: p.y + (q.y - p.y) * t });
  return [along(full, t0), mix(mix(a, c, t0), mix(c, b, t0), t1), along(full, t1)];
}
