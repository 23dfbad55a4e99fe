// Every page, in the order of the menu. A page is a folder with Page.svelte, en.js and zh.js; it is loaded when opened.

export const pages = [
  { name: 'primitives', load: () => import('./primitives/Page.svelte') },
  { name: 'algorithms', load: () => import('./algorithms/Page.svelte') },
  { name: 'calculator', load: () => import('./calculator/Page.svelte') },
  { name: 'mesh', load: () => import('./mesh/Page.svelte') },
  { name: 'product', load: () => import('./product/Page.svelte') },
  { name: 'runs', load: () => import('./runs/Page.svelte') },
  { name: 'pipelines', load: () => import('./pipelines/Page.svelte'), later: true },
  { name: 'strategies', load: () => import('./strategies/Page.svelte'), later: true },
];
