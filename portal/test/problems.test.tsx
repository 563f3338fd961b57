import { act, screen, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { sectionsOf, treeOf } from '../docs-sections.ts';
import { CurrentProblems, ProblemsOf } from '../src/pages/current-problems.tsx';
import { type Health, useLiveData } from '../src/shell/live-data.ts';
import { emit } from './support/browser.ts';
import { now, problemObject } from './support/objects.ts';
import { show } from './support/show.tsx';

type Problem = Health['problems'][number];

function Problems({ isAdmin = true }: { readonly isAdmin?: boolean }) {
  useLiveData();
  return <CurrentProblems isAdmin={isAdmin} />;
}

const report = (...problems: readonly Problem[]): void => act(() => emit('health', { at: now, problems }));
const rows = (): readonly HTMLElement[] => screen.queryAllByRole('row', { hidden: true }).slice(1);

test('nothing is said before a service has reported', () => {
  show(<Problems />);
  expect(document.body).toHaveTextContent('');
});

test.each([
  [true, 'No problems.'],
  [false, 'No problems with any model.'],
])('a gateway without problems says so (to an admin: %s)', (isAdmin, words) => {
  show(<Problems isAdmin={isAdmin} />);
  report();
  expect(screen.getByText(words)).toBeVisible();
  expect(rows()).toEqual([]);
});

test('a problem is a row: severity, object, cause, and the pages about it', () => {
  show(<Problems />);
  report(
    problemObject({ model: 'qwen/small', models: ['qwen/small', 'qwen/large'], severity: 'critical' }),
    problemObject({ object: 'Model/qwen', kind: 'model-failing', model: 'qwen/qwen3-8b', severity: 'critical' }),
    problemObject({ object: 'disk', kind: 'disk-filling', title: 'has little room left' }),
  );
  expect(rows().map((row) => within(row).getAllByRole('cell')[0]?.textContent)).toEqual([
    'Critical',
    'Critical',
    'Warning',
  ]);
  const [backend] = rows();
  expect(backend).toHaveTextContent(/Backend\/gpuqwen\/small and 1 more.*refuses its key/);
  const links = rows().map((row) =>
    within(row)
      .getAllByRole('link')
      .map((link) => link.getAttribute('href')),
  );
  const failed = '/requests?outcome=error';
  const from = 'from=2026-07-15T11%3A45%3A00.000Z';
  expect(links).toEqual([
    [
      '/backends?backend=gpu',
      '/models?model=qwen%2Fsmall',
      `${failed}&${from}`,
      '/?problem=backend-down+Backend%2Fgpu',
    ],
    [
      '/models?model=qwen%2Fqwen3-8b',
      `${failed}&model=qwen%2Fqwen3-8b&${from}`,
      '/?problem=model-failing+Model%2Fqwen',
    ],
    ['/?problem=disk-filling+disk'],
  ]);
});

test('the mistakes of one object are one row', () => {
  show(<Problems />);
  const mistake = { kind: 'object-refused', title: 'has a mistake' } as const;
  report(problemObject({ ...mistake, id: 'a' }), problemObject({ ...mistake, id: 'b' }), problemObject({ id: 'c' }));
  expect(rows()).toHaveLength(2);
  expect(rows()[0]).toHaveTextContent('has a mistake (2)');
});

test('five rows are shown, and a button opens the others', async () => {
  const reader = show(<Problems />);
  report(...Array.from({ length: 17 }, (_, at) => problemObject({ id: `p${at}`, object: `Backend/gpu-${at}` })));
  expect(rows()).toHaveLength(5);
  await reader.click(screen.getByRole('button', { name: '12 more' }));
  expect(rows()).toHaveLength(17);
  expect(screen.queryByRole('button', { name: '12 more' })).toBeNull();
});

test('what to do opens at the side, with an address, and closes', async () => {
  const reader = show(<Problems />);
  report(problemObject({ id: 'p1' }), problemObject({ id: 'p2', object: 'Backend/cpu' }));
  await reader.click(screen.getByRole('link', { name: 'What to do about Backend/cpu' }));
  const sheet = await screen.findByRole('dialog', { name: 'Backend/cpu refuses its key' });
  expect(location.search).toBe('?problem=backend-down+Backend%2Fcpu');
  expect(sheet).toHaveTextContent('Not healthy: gpu refuses the credential.');
  expect(sheet).toHaveTextContent('Correct the key in the Secret of the Backend.');
  await reader.keyboard('{Escape}');
  expect(screen.queryByRole('dialog')).toBeNull();
  expect(location.search).toBe('');
});

test('a problem that has ended disappears without a reload, with its sheet', () => {
  show(<Problems />, { at: '/?problem=backend-down+Backend%2Fgpu' });
  report(problemObject());
  expect(rows()).toHaveLength(1);
  report();
  expect(rows()).toEqual([]);
  expect(screen.queryByRole('dialog')).toBeNull();
});

test('a page has the problems that it is about', () => {
  function Silent() {
    useLiveData();
    return <ProblemsOf label="Silent services" are={({ kind }) => kind === 'service-silent'} />;
  }
  show(<Silent />);
  report(
    problemObject(),
    problemObject({ object: 'service/10.0.0.1:9090', kind: 'service-silent', title: 'does not answer' }),
  );
  expect(rows()).toHaveLength(1);
  expect(screen.getByRole('table', { name: 'Silent services' })).toHaveTextContent('service/10.0.0.1:9090');
});

test('sections of the docs have the anchors of their headings, and rows of tables those of their names', () => {
  const sections = sectionsOf(
    '# Page\n\n## The causes\n\nText with [a link](other.md) and 5<!--=five--> %.\n\n### Below\n\nMore.\n\n' +
      '## Kinds\n\n| kind | means |\n|---|---|\n| `one-kind` | it is *so* |\n',
  );
  expect(sections).toEqual({
    'the-causes': '<p>Text with a link and 5 %.</p>\n<h3>Below</h3>\n<p>More.</p>\n',
    below: '<p>More.</p>\n',
    kinds: expect.stringContaining('<table>') as string,
    'kinds/one-kind': '<dl><dt>means</dt><dd>it is <em>so</em></dd></dl>',
  });
  expect(treeOf('<p>a &amp; <a href="https://b.example">b</a><br></p>\n')).toEqual([
    ['p', null, ['a & ', ['a', 'https://b.example', ['b']], ['br', null, []]]],
    '\n',
  ]);
});
