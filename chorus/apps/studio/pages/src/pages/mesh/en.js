export default {
  title: 'Mesh',
  lead: 'Which device holds which block.',
};
