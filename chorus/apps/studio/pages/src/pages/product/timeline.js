// Where the bars of a timeline stand. Pure.

/** The end of a way: one after another, or with all hidden that can be. */
export function endOf(way, overlapped) {
  return overlapped ? way.hidden_seconds : way.seconds;
}

/** Bars of one way: [{ kind, begin, end, text, why }] in seconds. */
export function barsOf(way, overlapped) {
  return way.timeline.map(({ text, kind, why, ...at }) => ({
    text, kind, why,
    begin: overlapped ? at.hidden_begin_seconds : at.begin_seconds,
    end: overlapped ? at.hidden_end_seconds : at.end_seconds,
  }));
}

/** How far the axis goes: to the slowest way, but so that the best one still takes a sixth of it. */
export function reachOf(ways, overlapped) {
  const ends = ways.map((way) => endOf(way, overlapped)).filter((end) => end > 0);
  return ends.length ? Math.min(Math.max(...ends), 6 * Math.min(...ends)) : 1;
}
