/** Commas and colons as wide as Chinese words; those of the notation, in brackets, stay. Pure. */
export function wideMarks(text) {
  return text.replace(/\[[^\]]*\]|\{[^}]*\}|, |: |; /g, (found) => ({ ', ': '，', ': ': '：', '; ': '；' })[found] ?? found);
}
