import { expect, it } from 'vitest';
import { type DependencyFailure, watchDependencies } from '../../core/dependency-cause.ts';
import { reportIssuers } from './read-issuer.ts';

const away: DependencyFailure = { cause: 'connection-refused', reason: 'nobody listens' };

function open() {
  const watch = watchDependencies();
  const reports = reportIssuers(watch.of('token-issuer'));
  return { reports, failing: () => watch.failing().map(({ reason }) => reason) };
}

it('names an issuer that fails, whatever others do, until it answers', () => {
  const { reports, failing } = open();
  reports.of('https://a.test').failed(away);
  reports.of('https://b.test').succeeded();
  expect(failing()).toEqual(['https://a.test: nobody listens']);
  reports.of('https://a.test').succeeded();
  expect(failing()).toEqual([]);
});

it('forgets an issuer that no identity has any more', () => {
  const { reports, failing } = open();
  reports.of('https://a.test').failed(away);
  reports.keep(new Set(['https://a.test']));
  expect(failing()).toHaveLength(1);
  reports.keep(new Set(['https://b.test']));
  expect(failing()).toEqual([]);
});
