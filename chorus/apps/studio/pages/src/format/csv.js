/** Rows (lists of cells, the first row the heads) as CSV by RFC 4180. Pure. */
export function csv(rows) {
  return rows.map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}
function cell(value) {
  const text = value === null || value === undefined ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The same rows as text in columns, numbers to the right. Pure. */
export function columns(rows) {
  const texts = rows.map((row) => row.map((value) => String(value ?? '')));
  const widths = texts[0].map((_, i) => Math.max(...texts.map((row) => width(row[i]))));
  const right = texts[0].map((_, i) => texts.slice(1).every((row) => /^[-+\d]/.test(row[i]) || row[i] === ''));
  return texts
    .map((row) => row.map((text, i) => pad(text, widths[i], right[i])).join('  ').trimEnd())
    .join('\n') + '\n';
}
/** Columns that a text takes: Chinese characters take two. */
function width(text) {
  return [...text].reduce((sum, character) => sum + (character > '\u2e7f' ? 2 : 1), 0);
}
function pad(text, size, right) {
  const space = ' '.repeat(Math.max(0, size - width(text)));
  return right ? space + text : text + space;
}
