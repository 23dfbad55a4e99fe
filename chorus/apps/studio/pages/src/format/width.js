// How wide a text of 12 px is, about, and texts that fit. Pure.

/** Pixels: letters of Latin 6.6, of Chinese 12.4. */
export function widthOf(text) {
  let width = 0;
  for (const letter of text) width += /[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]/.test(letter) ? 12.4 : 6.6;
  return width;
}

/** The text, or as much of it as fits into `most` pixels and then "…". */
export function fitted(text, most) {
  if (widthOf(text) <= most) return text;
  let kept = '';
  for (const letter of text) {
    if (widthOf(`${kept}${letter}…`) > most) break;
    kept += letter;
  }
  return `${kept}…`;
}
