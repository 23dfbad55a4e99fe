// What the browser keeps from visit to visit: language and theme only. A browser that keeps nothing is fine.

export function recall(name, allowed) {
  try {
    const value = localStorage.getItem(`chorus.${name}`);
    return allowed.includes(value) ? value : null;
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(`chorus.${name}`, value);
  } catch {
    // Private windows may refuse; the address has it all the same.
  }
}
