/**
 * An action for what may be wider than the page: <div class="wide" use:scrollable>. While there is something to scroll it can
 * be focused, so that the arrow keys scroll it.
 */
export function scrollable(node) {
  const look = () => {
    if (node.scrollWidth > node.clientWidth + 1) node.tabIndex = 0;
    else node.removeAttribute('tabindex');
  };
  const observer = new ResizeObserver(look);
  observer.observe(node);
  for (const child of node.children) observer.observe(child);
  return { destroy: () => observer.disconnect() };
}
