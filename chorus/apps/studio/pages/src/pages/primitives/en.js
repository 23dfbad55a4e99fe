export default {
  title: 'Primitives',
  lead: 'What each operation promises: nine of them, before and after.',
};
