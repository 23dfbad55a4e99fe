export default {
  title: 'Calculator',
  lead: 'How long a collective takes, bound by what.',
};
