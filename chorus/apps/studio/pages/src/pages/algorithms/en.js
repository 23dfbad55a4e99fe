export default {
  title: 'Algorithms',
  lead: 'Who sends what to whom, step by step.',
};
