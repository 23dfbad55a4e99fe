import { untrack } from 'svelte';
import { motion } from '../shell/motion.svelte.js';

/**
 * Follows a step number smoothly: const shown = glide(() => step, () => seconds); shown.at moves from one step to the
 * next within `seconds`, so 2.4 is 40 % of the way from 2 to 3. It jumps over longer ways, and always where motion is
 * not wanted. Called while a component is set up.
 */
export function glide(target, seconds) {
  let at = $state(target());
  let frame = 0;

  $effect(() => {
    const to = target();
    const from = at_now();
    cancelAnimationFrame(frame);
    if (!motion.allowed || Math.abs(to - from) > 1.001 || to === from) {
      at = to;
      return;
    }
    const time = 1000 * seconds() * Math.abs(to - from);
    let begin = null;
    const draw = (now) => {
      begin ??= now;
      const part = Math.min(1, (now - begin) / time);
      at = part === 1 ? to : from + (to - from) * ease(part);
      if (part < 1) frame = requestAnimationFrame(draw);
    };
    frame = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(frame);
  });
  // Reads without following: the effect must start anew for a new target only.
  const at_now = () => untrack(() => at);
  return {
    get at() {
      return at;
    },
  };
}
const ease = (x) => (x < 0.5 ? 4 * x ** 3 : 1 - (-2 * x + 2) ** 3 / 2);
