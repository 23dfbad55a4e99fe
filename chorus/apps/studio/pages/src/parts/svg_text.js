const shown = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin',
  'opacity', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'dominant-baseline', 'visibility'];

/** A drawing as a file of its own: the styles that the page gives its parts are written into them. */
export function svgText(svg) {
  const copy = svg.cloneNode(true);
  const parts = [svg, ...svg.querySelectorAll('*')];
  const copies = [copy, ...copy.querySelectorAll('*')];
  parts.forEach((part, i) => {
    const style = getComputedStyle(part);
    for (const name of shown) {
      const value = style.getPropertyValue(name);
      if (value) copies[i].setAttribute(name, value);
    }
    // Where a part stands may be a style too, while it moves or has moved.
    if (style.transform !== 'none') copies[i].setAttribute('transform', style.transform);
    copies[i].removeAttribute('class');
    copies[i].removeAttribute('style');
  });
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  const back = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  back.setAttribute('width', '100%');
  back.setAttribute('height', '100%');
  back.setAttribute('fill', getComputedStyle(document.body).backgroundColor);
  copy.prepend(back);
  return new XMLSerializer().serializeToString(copy);
}
