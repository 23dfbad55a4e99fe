// Where the cells of `primitive` stand before and after, and which way each goes. Pure.

/**
 * answer: of `primitive`; width in pixels. Answers { width, height, ranks: [{ x, w }], cells: [{ when, rank, block, ranks, x, y, w, h,
 * reduced }], moves: [{ from: cell, to: cell }],
 * middle: y between before and after }. A cell's height follows its elements.
 */
export function scene(answer, width) {
  const n = answer.ranks;
  const left = 8;
  const column = (width - 2 * left) / n;
  const w = Math.min(width > 700 ? 132 : 104, column - Math.min(18, column * 0.2));
  const most = Math.max(1, ...answer.before.concat(answer.after).map((cells) => cells.length));
  const elements = (block) => answer.block_elements[block] ?? 1;
  const tall = (cells) => cells.reduce((sum, { block }) => sum + elements(block), 0);
  const tallest = (lists) => Math.max(1, ...lists.map(tall));
  const unit = Math.min(width > 700 ? 42 : 34, Math.max(3, (410 - 8 * most) / (tallest(answer.before) + tallest(answer.after))));
  const gap = unit > 14 ? 4 : 2;
  const top = 44;

  const stack = (lists, when, y0) => lists.flatMap((cells, rank) => {
    let y = y0;
    return cells.map(({ block, ranks, value }) => {
      const h = Math.max(3, unit * elements(block));
      const cell = { when, rank, block, ranks, value, elements: elements(block), x: left + column * rank + (column - w) / 2, y, w, h };
      y += h + gap;
      return cell;
    });
  });
  const before = stack(answer.before, 'before', top);
  const depth = (cells) => Math.max(top + unit, ...cells.map(({ y, h }) => y + h));
  const middle = depth(before) + 52;
  const after = stack(answer.after, 'after', middle + 52);
  const from = new Map(before.map((cell) => [`${cell.rank} ${cell.block}`, cell]));
  // One after another, each on its way for three fifths of the time.
  const ordered = after.map((cell, i) => ({ ...cell, begin: after.length > 1 ? (0.38 * i) / (after.length - 1) : 0.1 }));
  const moves = ordered.flatMap((cell) => cell.ranks.map((rank) => ({ from: from.get(`${rank} ${cell.block}`), to: cell })).filter(({ from }) => from));
  return {
    width, height: depth(after.concat(before.map((cell) => ({ ...cell, y: middle + 52 })).slice(0, 1))) + 14, middle,
    ranks: Array.from({ length: n }, (_, rank) => ({ x: left + column * rank + (column - w) / 2, w })),
    before, after: ordered, moves, ways: waysOf(moves, before, ordered),
  };
}

/** Who sends to whom: a line from the foot of one rank's stack to the head of another's, however many blocks go that way. */
function waysOf(moves, before, after) {
  const foot = new Map(before.map((cell) => [cell.rank, cell.y + cell.h]));  // the last one stays
  const head = new Map([...after].reverse().map((cell) => [cell.rank, cell.y]));
  const pairs = new Map(moves.map(({ from, to }) => [`${from.rank} ${to.rank}`, { from, to }]));
  return [...pairs.values()].map(({ from, to }) => ({ x: from.x + from.w / 2, y: foot.get(from.rank), toX: to.x + to.w / 2, toY: head.get(to.rank) }));
}

/** How far a move to `cell` is, 0..1, when `at` of the whole is over. */
export function partOf(cell, at) {
  return Math.max(0, Math.min(1, (at - cell.begin) / 0.6));
}

/** The example value of a cell: rank r has r + b in block b, so all_reduce of block b over N ranks is the sum of r + b. */
export function exampleOf({ block, ranks }, blocksPerRank) {
  return ranks.reduce((sum, rank) => sum + rank + (block % blocksPerRank), 0);
}
