/** Rules that span several stages. Each stage has a file of its own beside this one. */
import { expect, it } from 'vitest';
import { snapshotOf } from '../../../test/support/route-of.ts';
import { ask, wholeJson, begin, header, settle } from '../../../test/support/pipeline-run.ts';

it('names the fields that it accepts and ignores, and sends engines no user', async () => {
  const run = begin();
  const body = {
    ...ask,
    user: 'CANARY-user',
    safety_identifier: 'CANARY-user',
    provider: {},
    transforms: [],
    unknown: 1,
  };
  const exchange = run.send({ body: JSON.stringify(body) });
  const engine = await run.upstream.called(0);
  expect(engine.call.body).not.toContain('CANARY-user');
  engine.answer('application/json', wholeJson);
  await exchange.answered;
  expect(header(exchange, 'x-service-inert-params')).toBe('provider, transforms');
});

it('keeps the snapshot of a request while it runs, and releases it at the end', async () => {
  const run = begin();
  const exchange = run.send();
  const engine = await run.upstream.called(0);
  run.snapshots.swap(snapshotOf([], 'two'));
  expect(run.snapshots.clustersInUse().map(({ name }) => name)).toEqual(['cluster-a', 'cluster-b', 'cluster-c']);
  engine.fail('ECONNREFUSED');
  (await run.upstream.called(1)).answer('application/json', wholeJson);
  await exchange.answered;
  await settle();
  expect(run.snapshots.clustersInUse()).toEqual([]);
});
