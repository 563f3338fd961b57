// Rules that the linter lacks.
import { join } from 'node:path';
import prh from 'prh';

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

/** A shorter limit of time is one that a busy machine may pass, milliseconds: test/support/stuck-after.ts. */
const stuckAfterMs = 60_000;

/** `expect.poll`, or `expect(…).toBe`: the name of the member, and undefined for members of anything else. */
const memberOf = (node, object) =>
  node.type === 'MemberExpression' && [node.object.name, node.object.callee?.name].includes(object)
    ? node.property.name
    : undefined;
const isShort = ({ type, value }) => type === 'Literal' && typeof value === 'number' && value < stuckAfterMs;

/** A busy machine keeps no time: a test waits for an event, until it is stuck. A bound that is relative to the machine may stay. */
const noClockInTest = {
  create(context) {
    const elapsed = new Set();
    const bounded = [];
    const isElapsed = (node) => context.sourceCode.getText(node).includes('performance.now()');
    return {
      VariableDeclarator({ id, init }) {
        if (init?.type === 'BinaryExpression' && isElapsed(init)) elapsed.add(id.name);
      },
      ObjectExpression(node) {
        const limitOf = (name) => node.properties.find(({ key }) => key?.name === name)?.value;
        const [timeout, isNamed] = [limitOf('timeout'), limitOf('interval') !== undefined];
        const isPolled = node.parent?.type === 'CallExpression' && memberOf(node.parent.callee, 'expect') === 'poll';
        if (timeout === undefined || !isShort(timeout) || !(isPolled || isNamed)) return;
        context.report({ node, message: 'Leave out a limit below that of a stuck test: a busy machine passes it.' });
      },
      CallExpression(node) {
        if (['waitFor', 'waitUntil'].includes(memberOf(node.callee, 'vi'))) {
          context.report({
            node,
            message: 'It gives up after a second: use expect.poll or test/support/until-holds.ts.',
          });
        }
        const [bound] = node.arguments;
        if (!['toBeLessThan', 'toBeLessThanOrEqual'].includes(memberOf(node.callee, 'expect'))) return;
        if (isShort(bound) || bound.type === 'Identifier') bounded.push(node);
      },
      'Program:exit'() {
        for (const node of bounded) {
          const [measured] = node.callee.object.arguments;
          if (!isElapsed(measured) && !elapsed.has(measured.name)) continue;
          context.report({
            node,
            message: 'A busy machine takes longer: wait for the event, or see test/support/until-quick.ts.',
          });
        }
      },
    };
  },
};

/** A file that others can replace may have no end. The names that read a file whole, of `node:fs` and of its handles. */
const noUnboundedFile = {
  create(context) {
    const refuse = (node) =>
      context.report({ node, message: 'Use src/process/bounded-file.ts: a file may have no end.' });
    const isWhole = (name) => name === 'readFile' || name === 'readFileSync';
    return {
      ImportSpecifier(node) {
        if (isWhole(node.imported.name)) refuse(node);
      },
      CallExpression(node) {
        if (node.callee.type === 'MemberExpression' && isWhole(node.callee.property.name)) refuse(node);
      },
    };
  },
};

/** A shortage of files that the script of a thread does not handle would end the thread, and with some threads the service. */
const noBareWorker = {
  create(context) {
    return {
      NewExpression(node) {
        const { callee } = node;
        if ((callee.type === 'MemberExpression' ? callee.property.name : callee.name) !== 'Worker') return;
        context.report({ node, message: 'Use src/process/worker-thread.ts: its threads survive a shortage of files.' });
      },
    };
  },
};

/** A name of a stranger on a terminal can hold controls. */
const noRawOutput = {
  create(context) {
    const isOutput = (node) =>
      node.type === 'MemberExpression' &&
      ['stdout', 'stderr'].includes(node.property.name) &&
      node.object.name === 'process';
    return {
      CallExpression(node) {
        const { callee } = node;
        if (callee.type !== 'MemberExpression' || callee.property.name !== 'write' || !isOutput(callee.object)) return;
        context.report({
          node,
          message: 'Use src/programs/command-line/print.ts: it escapes the controls of a terminal.',
        });
      },
    };
  },
};

const words = prh.fromYAMLFilePath(join(import.meta.dirname, 'english', 'words.yaml'));

/** Sentences that people read in help texts, errors, problems, logs and descriptions, by the word list of the pages. */
const plainEnglish = {
  create(context) {
    const check = (node, text) => {
      if (!/\w+ \w+ \w+/.test(text)) return;
      for (const { matches, expected } of words.makeChangeSet('', text).diffs) {
        const instead = expected.replaceAll(/\$(\d)/g, (_, group) => matches[group] ?? '');
        context.report({ node, message: `Plain English: "${matches[0].trim()}" => "${instead.trim()}".` });
      }
    };
    return {
      Literal(node) {
        if (typeof node.value === 'string') check(node, node.value);
      },
      TemplateElement: (node) => check(node, node.value.cooked),
      JSXText: (node) => check(node, node.value.replaceAll(/\s+/g, ' ')),
    };
  },
};

export default {
  meta: { name: 'weir' },
  rules: {
    'no-ambient-date': noAmbientDate,
    'no-bare-worker': noBareWorker,
    'no-clock-in-test': noClockInTest,
    'no-function-into-property': noFunctionIntoProperty,
    'no-raw-output': noRawOutput,
    'no-unbounded-file': noUnboundedFile,
    'plain-english': plainEnglish,
  },
};
