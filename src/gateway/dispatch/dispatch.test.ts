import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { AnswerEvent, Fault, ReadStep, ResponseReader } from '../../core/event.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { UpstreamCall } from '../core/upstream.ts';
import { dispatch } from './dispatch.ts';
import type { DispatchEnd } from './dispatch-end.ts';
import { createHedgeBudget } from './hedge.ts';
import type { ErrorReader } from './protocol.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createFakeUpstream, type FakeCall } from '../../../test/support/fake-upstream.ts';
import { modelOf, plannedOf, plannedOfAll } from '../../../test/support/route-of.ts';
import { steadyHealth } from '../../../test/support/steady-health.ts';

const idleMs = 1000;
const words = { 'content-type': 'text/words' };

/** A word is text, a number is usage, `done` the end, `bad` a fault; pieces are parted by spaces. */
function readWords(): ResponseReader {
  let state: ReadStep['state'] = 'open';
  return {
    push: (bytes) => {
      const events: AnswerEvent[] = [];
      for (const word of new TextDecoder().decode(bytes).split(' ')) {
        if (word === 'done') state = 'complete';
        else if (word === 'bad') state = { kind: 'engine-error', detail: 'bad' };
        else if (/^\d+$/.test(word))
          events.push({ type: 'usage', usage: { promptTokens: Number(word), completionTokens: 0 } });
        else events.push({ type: 'text-delta', choice: 0, text: word, deltas: 1 });
      }
      return { events, state };
    },
    end: () => ({ events: [], state: state === 'open' ? { kind: 'truncated', detail: 'no end' } : state }),
  };
}

interface BeginOptions {
  readonly backends?: readonly string[];
  readonly callFor?: (planned: PlannedRoute) => UpstreamCall | Promise<UpstreamCall>;
  readonly refuses?: (call: UpstreamCall) => boolean;
  readonly aborted?: true;
}

const callTo = ({ route }: PlannedRoute): UpstreamCall => ({
  cluster: route.backend.cluster.name,
  authority: 'a',
  path: '/v1/chat/completions',
  body: '{}',
  accept: 'text/event-stream',
});

/** Status 400 is about the context, any other is nothing we know. */
const errors: ErrorReader = {
  needsBody: () => false,
  read: (status) => ({ engineError: status === 400 ? 'context-length' : 'other' }),
};

function begin({ backends = ['a', 'b', 'c'], callFor = callTo, refuses, aborted }: BeginOptions = {}) {
  const clock = createFakeClock();
  const upstream = createFakeUpstream(refuses === undefined ? {} : { refuses });
  const controller = new AbortController();
  if (aborted === true) controller.abort();
  const delivered: AnswerEvent[][] = [];
  const faults: (readonly [string, Fault['kind']])[] = [];
  const ends: DispatchEnd[] = [];
  const running = dispatch(
    {
      plan: { model: modelOf([]), routes: plannedOfAll(backends) },
      asked: { stream: true, choices: 1, cap: undefined, isJson: false, prompt: undefined },
      protocol: {
        request: callFor,
        reader: (_, { contentType }) => (contentType === words['content-type'] ? readWords() : undefined),
        errors,
        continuation: () => ({ mark: 'none', reasoning: false }),
      },
      retries: { mayRetry: () => true, explain: (refusedFor) => refusedFor },
      validator: undefined,
      countText: undefined,
      signal: controller.signal,
      deliver: (events) => delivered.push([...events]),
      observer: {
        attempting: () => undefined,
        won: () => undefined,
        failed: (route, fault) => faults.push([route.backend.name, fault.kind]),
      },
    },
    { upstream, clock, idleMs, health: steadyHealth(), hedges: createHedgeBudget() },
  );
  const ended = running.ended.then((end) => (ends.push(end), end));
  const engine = (index: number): FakeCall => {
    const call = upstream.calls[index];
    if (call === undefined) throw new Error(`there is no call ${index}`);
    return call;
  };
  const text = (): string =>
    delivered
      .flat()
      .flatMap((event) => ('text' in event ? [event.text] : []))
      .join(' ');
  const { signal } = controller;
  const leave = () => controller.abort();
  return { running, ended, ends, clock, upstream, engine, delivered, faults, text, leave, signal };
}

type Run = ReturnType<typeof begin>;
const asked = ({ upstream }: Run): readonly string[] => upstream.calls.map(({ call }) => call.cluster);

const beforeOutput: readonly (readonly [
  what: string,
  kind: Fault['kind'],
  provoke: (engine: FakeCall, run: Run) => void,
])[] = [
  ['no connection', 'connect', (engine) => engine.fail('ECONNREFUSED')],
  ['an error status', 'status', (engine) => engine.head(500)],
  ['a rate limit', 'status', (engine) => engine.head(429, { 'retry-after': '3' })],
  ['a wrong content type', 'content-type', (engine) => engine.head(200, { 'content-type': 'text/html' })],
  ['an error in a 200', 'engine-error', (engine) => (engine.head(200, words), engine.data('bad'))],
  ['an empty answer', 'truncated', (engine) => (engine.head(200, words), engine.end())],
  ['a cut after the head', 'reset', (engine) => (engine.head(200, words), engine.fail('ECONNRESET'))],
  ['a stall', 'stalled', (_, run) => run.clock.advance(idleMs)],
];
const afterOutput = beforeOutput.flatMap(([what, kind, provoke]) =>
  kind === 'connect' || kind === 'status' || kind === 'content-type' ? [] : [[what, kind, provoke] as const],
);

it('listens for a caller that leaves until it has ended', async () => {
  const { engine, ended, signal } = begin();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  engine(0).head(200, words);
  engine(0).data('a done');
  engine(0).end();
  await ended;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

describe('before any output', () => {
  it.each(beforeOutput)('tries the next route after %s, unseen', async (_, kind, provoke) => {
    const run = begin();
    provoke(run.engine(0), run);
    expect(asked(run)).toEqual(['cluster-a', 'cluster-b']);
    run.engine(1).answer('text/words', 'hello world done');
    const end = await run.ended;
    expect({ end: { ...end, route: 'route' in end && end.route?.id }, faults: run.faults, text: run.text() }).toEqual({
      end: { kind: 'completed', route: 'tiny@b', attempts: 2, routes: 2, isContinued: false },
      faults: [['a', kind]],
      text: 'hello world',
    });
    expect(run.clock.armed()).toBe(0);
  });

  it('tries every route once, in the order of the plan, and then fails', async () => {
    const run = begin();
    run.engine(0).head(500);
    run.engine(1).fail('ECONNREFUSED');
    run.clock.advance(idleMs);
    expect(await run.ended).toMatchObject({ kind: 'failed', attempts: 3 });
    expect(asked(run)).toEqual(['cluster-a', 'cluster-b', 'cluster-c']);
    expect(run.delivered).toEqual([]);
    expect(run.clock.armed()).toBe(0);
  });

  it('says why every route refused when all gave the same reason', async () => {
    const run = begin();
    for (const index of [0, 1, 2]) run.engine(index).head(400);
    expect(await run.ended).toMatchObject({ kind: 'failed', attempts: 3, refusedFor: 'context-length' });
  });

  it.each([
    ['failed otherwise', (engine: FakeCall) => engine.fail('ECONNREFUSED')],
    ['gave another reason', (engine: FakeCall) => engine.head(500)],
  ])('says no reason when one of them %s', async (_, provoke) => {
    const run = begin({ backends: ['a', 'b'] });
    run.engine(0).head(400);
    provoke(run.engine(1));
    expect(await run.ended).toMatchObject({ kind: 'failed', attempts: 2 });
  });

  it('gives each route the whole idle limit', () => {
    const run = begin();
    run.clock.advance(idleMs - 1);
    run.engine(0).head(500);
    run.clock.advance(idleMs - 1);
    expect(asked(run)).toEqual(['cluster-a', 'cluster-b']);
    run.clock.advance(1);
    expect(asked(run)).toEqual(['cluster-a', 'cluster-b', 'cluster-c']);
  });

  it('takes usage alone for no output: it is held back, and dropped with its attempt', async () => {
    const run = begin();
    run.engine(0).head(200, words);
    run.engine(0).data('11');
    expect(run.delivered).toEqual([]);
    run.engine(0).fail('ECONNRESET');
    run.engine(1).answer('text/words', '22 hello done');
    await run.ended;
    expect(run.delivered.flat()).toEqual([
      { type: 'usage', usage: { promptTokens: 22, completionTokens: 0 } },
      { type: 'text-delta', choice: 0, text: 'hello', deltas: 1 },
    ]);
  });

  it('hands over what was held back before the output that commits', async () => {
    const run = begin();
    run.engine(0).head(200, words);
    run.engine(0).data('11');
    run.engine(0).data('hello');
    expect(run.delivered).toEqual([
      [
        { type: 'usage', usage: { promptTokens: 11, completionTokens: 0 } },
        { type: 'text-delta', choice: 0, text: 'hello', deltas: 1 },
      ],
    ]);
  });

  it('does not listen to a route it has left', async () => {
    const run = begin();
    run.engine(0).head(500);
    run.engine(0).data('late');
    run.engine(0).fail('late');
    run.engine(1).answer('text/words', 'hello done');
    await run.ended;
    expect({ text: run.text(), faults: run.faults, asked: asked(run).length }).toEqual({
      text: 'hello',
      faults: [['a', 'status']],
      asked: 2,
    });
  });
});

describe('after output has been delivered', () => {
  it.each(afterOutput)('%s ends the answer as interrupted, and no other route is tried', async (_, kind, provoke) => {
    const run = begin();
    run.engine(0).head(200, words);
    run.engine(0).data('partial');
    const silentHead = { ...run.engine(0), head: () => undefined };
    provoke(silentHead, run);
    const end = await run.ended;
    expect({ ...end, route: 'route' in end && end.route?.id }).toEqual({
      kind: 'interrupted',
      route: 'tiny@a',
      attempts: 1,
      routes: 1,
      lastFault: expect.objectContaining({ kind }),
    });
    expect({ asked: asked(run), faults: run.faults, text: run.text(), armed: run.clock.armed() }).toEqual({
      asked: ['cluster-a'],
      faults: [['a', kind]],
      text: 'partial',
      armed: 0,
    });
  });

  it('delivers what came with the fault', async () => {
    const run = begin();
    run.engine(0).head(200, words);
    run.engine(0).data('some more bad');
    expect(await run.ended).toMatchObject({ kind: 'interrupted' });
    expect(run.text()).toBe('some more');
  });
});

describe('a caller who leaves', () => {
  const stages: readonly (readonly [when: string, prepare: (run: Run) => void, route: string | undefined])[] = [
    ['before the head', () => undefined, undefined],
    ['after the head', (run) => run.engine(0).head(200, words), undefined],
    ['in the middle', (run) => (run.engine(0).head(200, words), run.engine(0).data('partial')), 'tiny@a'],
    ['during the second attempt', (run) => run.engine(0).head(500), undefined],
    [
      'while held back',
      (run) => (run.engine(0).head(200, words), run.engine(0).data('partial'), run.running.pause()),
      'tiny@a',
    ],
  ];
  it.each(stages)('%s ends the attempt under way, and nothing more happens', async (_, prepare, route) => {
    const run = begin();
    prepare(run);
    const before = { asked: asked(run).length, faults: run.faults.length, text: run.text() };
    run.leave();
    const end = await run.ended;
    expect(end).toMatchObject({ kind: 'cancelled', attempts: before.asked });
    // The route is the one that delivered, and none did before the first output.
    expect('route' in end ? end.route?.id : undefined).toBe(route);
    const last = run.engine(before.asked - 1);
    expect({ aborted: last.aborted(), armed: run.clock.armed() }).toEqual({ aborted: true, armed: 0 });
    last.head(200, words);
    last.data('late done');
    last.fail('late');
    run.clock.advance(10 * idleMs);
    await Promise.resolve();
    expect({ asked: asked(run).length, faults: run.faults.length, text: run.text() }).toEqual(before);
    expect(run.ends).toHaveLength(1);
  });

  it('had left before it began: no engine is called', async () => {
    const run = begin({ aborted: true });
    expect(await run.ended).toEqual({ kind: 'cancelled', attempts: 0, routes: 0, heard: false });
    expect(asked(run)).toEqual([]);
  });

  it('leaves while the body is being written: no engine is called, and none counts as tried', async () => {
    const body = Promise.withResolvers<UpstreamCall>();
    const run = begin({ callFor: () => body.promise });
    run.leave();
    expect(await run.ended).toEqual({ kind: 'cancelled', attempts: 0, routes: 0, heard: false });
    body.resolve(callTo(plannedOf('a')));
    await body.promise;
    await Promise.resolve();
    expect({ asked: asked(run), armed: run.clock.armed() }).toEqual({ asked: [], armed: 0 });
  });

  it('may leave after the end: nothing happens', async () => {
    const run = begin();
    run.engine(0).answer('text/words', 'hello done');
    await run.ended;
    run.leave();
    expect({ ends: run.ends.map(({ kind }) => kind), aborted: run.engine(0).aborted() }).toEqual({
      ends: ['completed'],
      aborted: false,
    });
  });
});

describe('a body that a worker writes', () => {
  it('is waited for, route by route', async () => {
    const run = begin({ callFor: (planned) => Promise.resolve(callTo(planned)) });
    expect(asked(run)).toEqual([]);
    (await run.upstream.called(0)).head(500);
    (await run.upstream.called(1)).answer('text/words', 'hello done');
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2 });
  });

  it('that cannot be written rejects, and leaves no listener behind', async () => {
    const run = begin({ callFor: () => Promise.reject(new Error('too deep')) });
    await expect(run.ended).rejects.toThrow('too deep');
    run.leave();
    expect(asked(run)).toEqual([]);
  });

  it('that cannot be written here rejects too', async () => {
    const failing = (): never => {
      throw new Error('too deep');
    };
    await expect((async () => begin({ callFor: failing }).ended)()).rejects.toThrow('too deep');
    // The second route's body, when the first has failed already.
    const run = begin({ callFor: (planned) => (planned.route.backend.name === 'a' ? callTo(planned) : failing()) });
    run.engine(0).head(500);
    await expect(run.ended).rejects.toThrow('too deep');
  });
});

describe('calls that fail before they are made', () => {
  it('move on to the next route', async () => {
    const run = begin({ refuses: (call) => call.cluster === 'cluster-a' });
    run.engine(1).answer('text/words', 'hello done');
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2 });
  });

  it('do not stand in the way of a caller who leaves later', async () => {
    const run = begin({ refuses: (call) => call.cluster === 'cluster-a' });
    run.leave();
    await run.ended;
    expect({ aborted: run.engine(1).aborted(), armed: run.clock.armed() }).toEqual({ aborted: true, armed: 0 });
  });

  it('do not stand in the way of holding back', () => {
    const run = begin({ refuses: (call) => call.cluster === 'cluster-a' });
    run.running.pause();
    expect(run.engine(1).paused()).toBe(true);
    run.running.resume();
    expect(run.engine(1).paused()).toBe(false);
  });

  it('all of them: it fails', async () => {
    expect(await begin({ refuses: () => true }).ended).toMatchObject({ kind: 'failed', attempts: 3 });
  });
});

it('has one timer at a time through all of it', () => {
  const run = begin();
  const most: number[] = [];
  const look = (): number => most.push(run.clock.armed());
  look();
  run.engine(0).head(500);
  look();
  run.engine(1).head(200, words);
  look();
  for (let spoken = 0; spoken < 20; spoken += 1) {
    run.engine(1).data('a');
    run.clock.advance(400);
    look();
  }
  expect(Math.max(...most)).toBe(1);
  run.engine(1).data('done');
  run.engine(1).end();
  expect(run.clock.armed()).toBe(0);
});
