// Where the slider of bytes stands, and the sizes that the curves have. Pure.

const first = 8; // 256 B
const last = 36; // 64 GiB
const quarters = 4;
const units = ['', 'Ki', 'Mi', 'Gi'];

/** The slider's positions are quarters between powers of two: 0 is 256 B, 1 is 320 B, 4 is 512 B. */
export const positions = (last - first) * quarters;

/** Position -> "1.25MiB". */
export function sizeAt(position) {
  const power = first + Math.floor(position / quarters);
  const bytes = 2 ** power * (1 + (position % quarters) / quarters);
  const unit = Math.min(units.length - 1, Math.floor(power / 10));
  return `${bytes / 1024 ** unit}${units[unit]}B`;
}

/** Bytes -> the nearest position. */
export function positionOf(bytes) {
  const power = Math.floor(Math.log2(Math.max(1, bytes)));
  const position = (power - first) * quarters + Math.round((bytes / 2 ** power - 1) * quarters);
  return Math.max(0, Math.min(positions, position || 0));
}

/** The sizes of the curves: the slider's powers of two. */
export const curveSizes = '256B..64GiB';
