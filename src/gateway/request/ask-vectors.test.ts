import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createFakeUpstream } from '../../../test/support/fake-upstream.ts';
import { endpointOf, modelOf, routeOf } from '../../../test/support/route-of.ts';
import type { EngineName } from '../../core/engine-name.ts';
import { bytesOfVectors } from '../../core/vector-reference.ts';
import { createAskVectors } from './ask-vectors.ts';

const embedding = { dimensions: 2, shorterDimensions: [], minSimilarity: 0.999, tokenIds: false };

function asking({ engine = 'vllm', maxInputs }: { readonly engine?: EngineName; readonly maxInputs?: number } = {}) {
  const clock = createFakeClock();
  const upstream = createFakeUpstream();
  const plain = routeOf('a', { upstreamModel: 'bge' });
  const backend = { ...plain.backend, engine, headers: [['authorization', 'Bearer engine']] as const, query: '?v=1' };
  const route = { ...plain, backend };
  const model = modelOf([route], { kind: 'embedding', embedding: { ...embedding, maxInputs } });
  const answer = createAskVectors({ upstream, clock })(
    { model, route },
    { endpoint: endpointOf('a'), texts: ['x', 'y'] },
  );
  const bodyOf = (at: number): unknown => JSON.parse(Buffer.from(upstream.calls[at]?.call.body ?? '').toString());
  const replies = (at: number, body: unknown, status = 200): void => {
    const engineCall = upstream.calls[at];
    engineCall?.head(status, { 'content-type': 'application/json' });
    engineCall?.data(typeof body === 'string' ? body : JSON.stringify(body));
    engineCall?.end();
  };
  return { answer, clock, upstream, bodyOf, replies };
}

const item = (vector: unknown, index = 0) => ({ object: 'embedding', index, embedding: vector });

it('calls one endpoint as a request of a caller would, and has the bits of its vectors', async () => {
  const { answer, upstream, bodyOf, replies } = asking();
  expect(upstream.calls[0]?.call).toMatchObject({
    ...{ endpoint: endpointOf('a').name, path: '/v1/embeddings?v=1', accept: 'application/json' },
    headers: [['authorization', 'Bearer engine']],
  });
  expect(bodyOf(0)).toEqual({ model: 'bge', encoding_format: 'base64', input: ['x', 'y'] });
  const base64 = Buffer.from(bytesOfVectors([Float32Array.of(0.1, -3)])).toString('base64');
  // An engine may ignore the encoding, and answer in another order.
  replies(0, { data: [item([1e-3, 0.5], 1), item(base64, 0)] });
  // The last one is asked for alone as well: some engines let texts of a call change each other's vectors.
  await upstream.called(1);
  expect(bodyOf(1)).toMatchObject({ input: ['y'] });
  replies(1, { data: [item([1, 2])] });
  expect(await answer).toEqual({
    ...{ kind: 'vectors', vectors: [Float32Array.of(0.1, -3), Float32Array.of(1e-3, 0.5)] },
    alone: { index: 1, vector: Float32Array.of(1, 2) },
  });
});

it('asks in pieces where the engine or the model takes fewer inputs', async () => {
  const { answer, bodyOf, replies, upstream } = asking({ maxInputs: 1 });
  replies(0, { data: [item([1, 2])] });
  await upstream.called(1);
  expect([bodyOf(0), bodyOf(1)]).toMatchObject([{ input: ['x'] }, { input: ['y'] }]);
  replies(1, { data: [item([3, 4])] });
  expect(await answer).toEqual({ kind: 'vectors', vectors: [Float32Array.of(1, 2), Float32Array.of(3, 4)] });
});

it('tells another length from an answer that cannot be read', async () => {
  const long = asking();
  long.replies(0, { data: [item([1, 2, 3]), item([1, 2, 3], 1)] });
  expect(await long.answer).toEqual({ kind: 'wrong-length', length: 3 });
  const empty = asking();
  empty.replies(0, { data: [item([null, null]), item([1, 2], 1)] });
  expect(await empty.answer).toMatchObject({ kind: 'failed', why: expect.stringMatching(/null instead of a number/) });
});

it('fails with the reason of the engine, of the connection, and of its silence', async () => {
  const refused = asking();
  refused.replies(0, { error: { message: 'model is loading' } }, 503);
  expect(await refused.answer).toMatchObject({ kind: 'failed', why: expect.stringMatching(/HTTP 503|loading/) });
  const cut = asking();
  cut.upstream.calls[0]?.fail('ECONNREFUSED');
  expect((await cut.answer).kind).toBe('failed');
  const silent = asking();
  silent.clock.advance(30_000);
  expect(await silent.answer).toMatchObject({ kind: 'failed' });
  expect(silent.upstream.calls[0]?.aborted()).toBe(true);
});

it('takes no answer of another endpoint for one of this endpoint', async () => {
  const { answer, upstream } = asking();
  upstream.calls[0]?.movedTo('10.0.0.9:8000');
  expect(await answer).toEqual({ kind: 'failed', why: 'Envoy has no healthy connection to it' });
});
