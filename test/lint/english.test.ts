import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';

// What `npm run check` finds on a page that reads like a translation. The words and their examples are in english/words.yaml.

const root = join(import.meta.dirname, '..', '..');
const report = z.tuple([z.object({ messages: z.array(z.object({ line: z.int(), ruleId: z.string() })) })]);

/** The rules that a page breaks, by line. */
async function found(page: string): Promise<readonly (readonly [number, string])[]> {
  const output = await new Promise<string>((resolve) => {
    const program = join(root, 'node_modules/textlint/bin/textlint.js');
    const options = [
      '--rulesdir',
      'test/lint/english/rules',
      '--format',
      'json',
      '--stdin',
      '--stdin-filename',
      'a.md',
    ];
    const child = execFile(process.execPath, [program, ...options], { cwd: root }, (_error, stdout) => resolve(stdout));
    child.stdin?.end(page);
  });
  return report.parse(JSON.parse(output))[0].messages.map(({ line, ruleId }) => [line, ruleId]);
}

it('reports a heading that is a clause, and words in sentences, links, emphasis and cells', async () => {
  const page = [
    '## What becomes of a request',
    'Requests *under way* count in place of [the name of the model](a.md).',
    '',
    '| a |\n|---|\n| a hedge runs beside it |',
  ].join('\n');
  expect(await found(page)).toEqual([
    [1, 'noun-headings'],
    [1, 'prh'],
    [2, 'prh'],
    [2, 'prh'],
    [2, 'prh'],
    [6, 'prh'],
  ]);
});

it('accepts plain English, questions, and code of any kind', async () => {
  const page =
    '# Failover\n\n## Which engines work?\n\nIn-flight requests continue. `requests under way`\n\n```sh\n# what runs\n```\n';
  expect(await found(page)).toEqual([]);
});

it('accepts a decision as the title of its page, and checks its text', async () => {
  expect(await found('# 0090 Roles in a workspace are one table\n\nRequests under way count.\n')).toEqual([[3, 'prh']]);
});
