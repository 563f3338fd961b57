import { act, screen, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { PortalEvent } from '../../src/portal/api/events.ts';
import { CurrentProblems } from '../src/pages/current-problems.tsx';
import { ServiceProblems } from '../src/pages/service-problems.tsx';
import { useLiveData } from '../src/shell/live-data.ts';
import { emit } from './support/browser.ts';
import { now } from './support/objects.ts';
import { show } from './support/show.tsx';

type Problem = Extract<PortalEvent, { readonly name: 'health' }>['data']['problems'][number];

const problem = (given: Partial<Problem>): Problem => ({
  ...{ id: 'p1', object: 'Backend/gpu', kind: 'backend-down', model: null, since: now },
  ...{ problem: 'No endpoint is healthy.', action: 'Look at its pods.' },
  ...given,
});

function Problems({ isAdmin }: { readonly isAdmin: boolean }) {
  useLiveData();
  return <CurrentProblems isAdmin={isAdmin} />;
}

const report = (...problems: readonly Problem[]): void => act(() => emit('health', { at: now, problems }));

test('nothing is said before a service has reported', () => {
  show(<Problems isAdmin />);
  expect(document.body).toHaveTextContent('');
});

test.each([
  [true, 'No problems.'],
  [false, 'No problems with any model.'],
])('a gateway without problems says so (to an admin: %s)', (isAdmin, words) => {
  show(<Problems isAdmin={isAdmin} />);
  report();
  expect(screen.getByText(words)).toBeVisible();
});

test('each problem says since when and what to do, and leads to the page that shows it', () => {
  show(<Problems isAdmin />);
  report(
    problem({ id: 'p1', object: 'Backend/gpu' }),
    problem({ id: 'p2', object: 'Model/qwen', model: 'qwen/qwen3-8b', problem: 'It has no route.' }),
    problem({ id: 'p3', object: 'Database', problem: 'It does not answer.', action: 'Start PostgreSQL.' }),
  );
  expect(screen.getByRole('heading', { name: '3 current problems' })).toBeVisible();
  const items = screen.getAllByRole('listitem');
  expect(items[0]).toHaveTextContent(
    'Backend/gpu, since Jul 15, 2026, 2:00 PM: No endpoint is healthy.Look at its pods.',
  );
  const links = items.map((item) => within(item).queryByRole('link')?.getAttribute('href'));
  expect(links).toEqual(['/backends?backend=gpu', '/models?model=qwen%2Fqwen3-8b', undefined]);
});

test('a problem that has ended disappears without a reload', () => {
  show(<Problems isAdmin />);
  report(problem({}));
  expect(screen.getByRole('heading', { name: '1 current problem' })).toBeVisible();
  report();
  expect(screen.queryByRole('listitem')).toBeNull();
});

test.each([
  [[true, true], undefined],
  [[true, false], 'Some services do not answer'],
  [[false, false], 'No service answers'],
])('services that answer (%j): %s', (answers, heading) => {
  const services = answers.map((does, at) => ({
    ...{ service: `http://10.0.0.${at}:9090`, answers: does, problem: does ? null : 'connection refused' },
  }));
  show(<ServiceProblems services={services} />);
  expect(screen.queryByRole('heading')?.textContent).toBe(heading);
  expect(screen.queryAllByRole('listitem')).toHaveLength(answers.filter((does) => !does).length);
});
