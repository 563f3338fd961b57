/** Callers who leave, at every stage. */
import { describe, expect, it } from 'vitest';
import type { PreparedRequest } from '../../core/prompt.ts';
import { prepareHere } from './prepare.ts';
import type { FakeCall } from '../../../test/support/fake-upstream.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import {
  ask,
  askStream,
  hello,
  wholeJson,
  cost,
  begin,
  settle,
  expectClean,
  head,
} from '../../../test/support/pipeline-run.ts';

describe('a caller who leaves', () => {
  const stages: readonly (readonly [
    when: string,
    body: object,
    prepare: (engine: FakeCall) => void,
    billed: object,
  ])[] = [
    ['after the head of a stream', askStream, (engine) => head(engine), { completionTokens: 0 }],
    ['in the middle of a stream', askStream, (engine) => (head(engine), engine.data(hello)), { completionTokens: 2 }],
    [
      'while a whole answer arrives',
      ask,
      (engine) => (head(engine, 'application/json'), engine.data('{"choices"')),
      { completionTokens: 0 },
    ],
  ];
  it.each(stages)(
    '%s: the engine’s call is aborted, and input and delivered output are billed once',
    async (_, body, prepare, billed) => {
      const run = begin();
      const text = JSON.stringify(body);
      const exchange = run.send({ body: text });
      const engine = await run.upstream.called(0);
      prepare(engine);
      exchange.leave();
      expect(engine.aborted()).toBe(true);
      await expectClean(run, 1);
      expect(run.store.outcomes).toMatchObject([
        {
          kind: 'cancelled',
          attempts: 1,
          countedBy: 'estimate',
          // Its text is `CANARY-prompt`.
          usage: { promptTokens: 3, ...billed },
        },
      ]);
      expect({ endings: exchange.endings(), released: run.released(), refusals: run.refusals.length }).toEqual({
        endings: 0,
        released: 1,
        refusals: 0,
      });
    },
  );

  it.each([
    ['whose engine has answered lately, on its connection', { reaches: true, isAnswering: true }, 3],
    ['whose connection is not made', { reaches: false, isAnswering: true }, 0],
    ['whose engine has shown no sign of life', { reaches: true, isAnswering: false }, 0],
  ])('before the head of a request %s pays for what an engine had', async (_, how, promptTokens) => {
    for (const body of [askStream, ask]) {
      const run = begin(how);
      const exchange = run.send({ body: JSON.stringify(body) });
      const engine = await run.upstream.called(0);
      exchange.leave();
      await expectClean(run, 1);
      expect(engine.aborted()).toBe(true);
      expect(run.store.outcomes).toMatchObject([
        { kind: 'cancelled', attempts: 1, usage: { promptTokens, completionTokens: 0 } },
      ]);
    }
  });

  it('while a whole answer is validated pays for it: an engine has made all of it', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify({ ...ask, response_format: { type: 'json_object' } }) });
    (await run.upstream.called(0)).answer('application/json', wholeJson);
    exchange.leave();
    await expectClean(run, 1);
    expect(run.store.outcomes).toMatchObject([{ kind: 'cancelled', usage: { promptTokens: 3 } }]);
  });

  it('whose connection broke at the service has not left: the delivered output is billed, and no prompt', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(askStream) });
    const engine = await run.upstream.called(0);
    head(engine);
    engine.data(hello);
    exchange.lose();
    expect(engine.aborted()).toBe(true);
    await expectClean(run, 1);
    expect(run.store.outcomes).toMatchObject([
      { kind: 'service-lost', usage: { promptTokens: 0, completionTokens: 2 }, attempts: 1 },
    ]);
    expect(run.refusals).toEqual([]);
  });

  it('while the row is written: the whole answer is billed, once', async () => {
    const run = begin();
    const exchange = run.send();
    const engine = await run.upstream.called(0);
    engine.answer('application/json', wholeJson);
    exchange.leave();
    await expectClean(run, 1);
    expect(run.store.outcomes).toMatchObject([{ kind: 'completed', cost }]);
  });

  it('before the body has come: nothing is dispatched, billed or held against the service', async () => {
    const run = begin();
    const exchange = run.send({ body: undefined });
    await settle();
    exchange.leave();
    await expectClean(run, 0);
    expect(run.upstream.calls).toHaveLength(0);
    expect(run.refusals.filter(({ row }) => row.blame === 'service')).toEqual([]);
  });

  it('while the body is read in a worker: nothing is dispatched, and nothing is billed', async () => {
    const prepared = Promise.withResolvers<PreparedRequest>();
    const run = begin({ prepare: () => prepared.promise });
    const exchange = run.send();
    await settle();
    exchange.leave();
    prepared.resolve(
      prepareHere(new TextEncoder().encode(JSON.stringify(ask)), { surface: 'chat', countPrompt: uncounted }),
    );
    await settle();
    expect(run.upstream.calls).toHaveLength(0);
    expect(run.store.outcomes.map((outcome) => outcome.cost)).toEqual(run.store.outcomes.map(() => 0n));
    expect(run.pipeline.inFlight()).toBe(0);
  });
});
