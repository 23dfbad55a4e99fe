// What a screen reader is told when something changes away from the focus. LiveRegion.svelte holds it.

export const spoken = $state({ text: '' });

/** Tells `text` politely. The last of several within a moment wins, so that a moving slider does not chatter. */
export function speak(text) {
  clearTimeout(timer);
  timer = setTimeout(() => (spoken.text = text), 250);
}
let timer = 0;
