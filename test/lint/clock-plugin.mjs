// A rule the linter does not bring along: `new Date()` and `Date()` read the clock as surely as Date.now() does.
const message = 'Ask the Clock of core/clock.ts; a Date is made from a number.';

const noAmbientDate = {
  create(context) {
    const refuse = (node) => {
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'Date') return;
      if (node.type === 'NewExpression' && node.arguments.length > 0) return;
      context.report({ node, message });
    };
    return { NewExpression: refuse, CallExpression: refuse };
  },
};

export default { meta: { name: 'clock' }, rules: { 'no-ambient-date': noAmbientDate } };
