// Whether things may move: false where the user has asked for less motion.

const query = matchMedia('(prefers-reduced-motion: reduce)');
export const motion = $state({ allowed: !query.matches });
query.addEventListener('change', () => (motion.allowed = !query.matches));
