// Two rules the linter does not bring along.

/** `new Date()` and `Date()` read the clock as surely as Date.now() does. */
const noAmbientDate = {
  create(context) {
    const message = 'Ask the Clock of core/clock.ts; a Date is made from a number.';
    const refuse = (node) => {
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'Date') return;
      if (node.type === 'NewExpression' && node.arguments.length > 0) return;
      context.report({ node, message });
    };
    return { NewExpression: refuse, CallExpression: refuse };
  },
};

/** V8 makes `a.b = () => …` in the old generation: the function, and all that it refers to, outlives its request. Tables that are made once may have it. */
const noFunctionIntoProperty = {
  create(context) {
    const message = 'Let a function return it: docs/decisions/0022 says what this keeps alive.';
    return {
      AssignmentExpression(node) {
        if (node.left.type !== 'MemberExpression' || node.left.computed) return;
        if (!['ArrowFunctionExpression', 'FunctionExpression'].includes(node.right.type)) return;
        context.report({ node, message });
      },
    };
  },
};

export default {
  meta: { name: 'weir' },
  rules: { 'no-ambient-date': noAmbientDate, 'no-function-into-property': noFunctionIntoProperty },
};
