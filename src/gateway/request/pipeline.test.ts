/** Rules that span several stages. Each stage has a file of its own beside this one. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { answerPaths } from '../../core/api-paths.ts';
import { snapshotOf } from '../../../test/support/route-of.ts';
import { ask, authorized, wholeJson, begin, bodyOf, header, settle } from '../../../test/support/pipeline-run.ts';

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

const bodies = {
  chat: ask,
  messages: { ...ask, max_tokens: 9 },
  responses: { model: ask.model, input: 'CANARY-prompt' },
} as const;

it.each(['chat', 'messages', 'responses'] as const)('reads an encoded body on %s', async (surface) => {
  const run = begin();
  const body = gzipSync(JSON.stringify(bodies[surface]));
  const exchange = run.send({
    path: answerPaths[surface],
    headers: { ...authorized, 'content-encoding': 'gzip' },
    body,
  });
  const engine = await run.upstream.called(0);
  expect(engine.call.body).toContain('CANARY-prompt');
  engine.answer('application/json', wholeJson);
  await exchange.answered;
  expect(exchange.status()).toBe(200);
});

it.each([
  ['gzip, br', brotliCompressSync(gzipSync('{}')), 415, /content-encoding must be one of/],
  ['compress', Buffer.from('{}'), 415, /content-encoding must be one of/],
  ['gzip', Buffer.from('{}'), 400, /is not gzip data/],
  ['br', brotliCompressSync(Buffer.alloc(40_000_000)), 413, undefined],
])('answers a body in %s that it cannot read with its own status', async (coding, body, status, message) => {
  const run = begin();
  const exchange = run.send({ headers: { ...authorized, 'content-encoding': coding }, body });
  await exchange.answered;
  expect(exchange.status()).toBe(status);
  if (message !== undefined)
    expect(bodyOf(exchange)).toMatchObject({ error: { message: expect.stringMatching(message) as string } });
  expect(run.upstream.calls).toHaveLength(0);
});

it.each([
  ['a byte order mark', `\uFEFF${JSON.stringify(ask)}`],
  ['line ends around it', `\r\n${JSON.stringify(ask)}\n\n`],
])('reads a body with %s', async (_, body) => {
  const run = begin();
  const exchange = run.send({ body });
  (await run.upstream.called(0)).answer('application/json', wholeJson);
  await exchange.answered;
  expect(exchange.status()).toBe(200);
});
