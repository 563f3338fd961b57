import { describe, expect, it } from 'vitest';
import type { AnswerEvent, Fault, ReadStep, ResponseReader } from '../../core/event.ts';
import { startAttempt } from './attempt.ts';
import type { ChoiceContinuation } from './continuation/continuation.ts';
import { mergeNothing } from './continuation/merge.ts';
import type { EngineProtocol, ErrorReader } from './protocol.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createFakeUpstream } from '../../../test/support/fake-upstream.ts';
import { endpointOf, plannedOf } from '../../../test/support/route-of.ts';

const idleMs = 1000;

/** A reader of a format of its own: a word is text, a number usage, `done` the end, `bad` a fault, anything else no payload. */
function readWords(): ResponseReader {
  let state: ReadStep['state'] = 'open';
  return {
    push: (bytes) => {
      const word = new TextDecoder().decode(bytes);
      if (word === 'done') state = 'complete';
      if (word === 'bad') state = { kind: 'engine-error', detail: 'bad' };
      const said = /^[a-z]+$/.test(word) && state === 'open';
      if (/^\d+$/.test(word))
        return { events: [{ type: 'usage', usage: { promptTokens: 1, completionTokens: Number(word) } }], state };
      return { events: said ? [{ type: 'text-delta', choice: 0, text: word, deltas: 1 }] : [], state };
    },
    end: () => ({ events: [], state: state === 'open' ? { kind: 'truncated', detail: 'no end' } : state }),
  };
}

/** Status 400 is explained in the body; `long` means the context. */
const errors: ErrorReader = {
  needsBody: (status) => status === 400,
  read: (status, body) => ({
    engineError: body.includes('long') ? 'context-length' : status === 400 ? 'bad-request' : 'other',
  }),
};

function begin(
  options: {
    readonly refuses?: true;
    readonly firstOutputMs?: number;
    readonly refusesMove?: true;
    readonly continuation?: ChoiceContinuation;
  } = {},
) {
  const clock = createFakeClock();
  const upstream = createFakeUpstream(options.refuses === true ? { refuses: () => true } : {});
  const events: AnswerEvent[] = [];
  const ends: ('complete' | Fault)[] = [];
  const call = { cluster: 'c', authority: 'a', path: '/v1', body: '{}', accept: 'text/event-stream' } as const;
  const protocol: EngineProtocol = {
    request: () => call,
    reader: (_, { contentType }) => (contentType === 'text/words' ? readWords() : undefined),
    errors,
    continuation: () => ({ mark: 'none', reasoning: false }),
  };
  const planned = plannedOf('a');
  const quiet = { output: () => undefined, ended: () => undefined };
  const movedTo = () => (options.refusesMove === true ? ('refused' as const) : undefined);
  const record = { endpoint: endpointOf('a'), ...quiet, movedTo };
  const attempt = startAttempt(
    {
      planned,
      choices: 1,
      continuation: options.continuation,
      record,
      protocol,
      upstream,
      clock,
      idleMs,
      firstOutputMs: options.firstOutputMs,
    },
    {
      calling: () => undefined,
      movedTo: () => undefined,
      events: (more) => events.push(...more),
      over: (end) => ends.push(end),
      crashed: (error) => {
        throw error;
      },
    },
  );
  const [engine] = upstream.calls;
  if (engine === undefined) throw new Error('no call was made');
  const words = (): readonly string[] => events.flatMap((event) => ('text' in event ? [event.text] : []));
  const head = (): void => engine.head(200, { 'content-type': 'text/words' });
  return { attempt, clock, engine, ends, words, head };
}

describe('an attempt', () => {
  it('hands on events as they come, and ends complete', () => {
    const { engine, clock, ends, words, head } = begin();
    head();
    engine.data('a');
    expect(words()).toEqual(['a']);
    engine.data('b');
    engine.data('done');
    engine.end();
    expect({ words: words(), ends, armed: clock.armed(), aborted: engine.aborted() }).toEqual({
      words: ['a', 'b'],
      ends: ['complete'],
      armed: 0,
      aborted: false,
    });
  });

  it('reports what its engine has said so far', () => {
    const { attempt, engine, head } = begin();
    expect(attempt.facts()).toEqual({ model: undefined, usage: undefined, finishReasons: [] });
    head();
    engine.data('7');
    expect(attempt.facts()).toMatchObject({ model: undefined, usage: { completionTokens: 7 } });
    engine.data('done');
  });

  it('goes on where Envoy has moved it, unless that endpoint may not answer', () => {
    const moved = begin();
    moved.engine.movedTo('10.0.0.2:8000');
    moved.head();
    moved.engine.data('done');
    moved.engine.end();
    expect(moved.ends).toEqual(['complete']);
    const { engine, ends, clock } = begin({ refusesMove: true });
    engine.movedTo('10.0.0.2:8000');
    expect(ends).toEqual([{ kind: 'connect', detail: '10.0.0.2:8000 answered, which may not serve this route' }]);
    expect([engine.aborted(), clock.armed()]).toEqual([true, 0]);
  });

  const faults: readonly (readonly [
    what: string,
    run: (run: ReturnType<typeof begin>) => void,
    fault: Partial<Fault>,
  ])[] = [
    ['no connection', ({ engine }) => engine.fail('ECONNREFUSED'), { kind: 'connect', detail: 'ECONNREFUSED' }],
    ['a status other than 200', ({ engine }) => engine.head(500), { kind: 'status', status: 500 }],
    [
      'an error explained in its body',
      ({ engine }) => (engine.head(400), engine.data('too lo'), engine.data('ng'), engine.end()),
      { kind: 'status', status: 400, engineError: 'context-length' },
    ],
    [
      'an error whose body is cut',
      ({ engine }) => (engine.head(400, { 'retry-after': '7' }), engine.data('too long'), engine.fail('ECONNRESET')),
      { kind: 'status', status: 400, engineError: 'context-length', retryAfterSeconds: 7 },
    ],
    [
      'an error whose body does not end',
      ({ engine, clock }) => (engine.head(400), engine.data('too long'), clock.advance(1000)),
      { kind: 'status', status: 400, engineError: 'context-length' },
    ],
    [
      'an error whose body is longer than 64 KiB',
      ({ engine }) => (engine.head(400), engine.data('x'.repeat(65_530)), engine.data('too long')),
      { kind: 'status', status: 400, engineError: 'bad-request' },
    ],
    ['an error without a body', ({ engine }) => (engine.head(400), engine.end()), { engineError: 'bad-request' }],
    ['an empty success', ({ engine }) => engine.head(204), { kind: 'status', status: 204 }],
    [
      'a 429 that says how long to wait',
      ({ engine }) => engine.head(429, { 'retry-after': '7' }),
      { kind: 'status', status: 429, retryAfterSeconds: 7 },
    ],
    [
      'a wrong content type',
      ({ engine }) => engine.head(200, { 'content-type': 'text/html' }),
      { kind: 'content-type' },
    ],
    ['no content type', ({ engine }) => engine.head(200), { kind: 'content-type' }],
    ['a fault in what it says', ({ engine, head }) => (head(), engine.data('bad')), { kind: 'engine-error' }],
    ['an end in the middle', ({ engine, head }) => (head(), engine.data('a'), engine.end()), { kind: 'truncated' }],
    ['an end before the head', ({ engine }) => engine.end(), { kind: 'truncated' }],
    [
      'a cut connection',
      ({ engine, head }) => (head(), engine.data('a'), engine.fail('ECONNRESET')),
      { kind: 'reset', detail: 'ECONNRESET' },
    ],
    ['silence before the head', ({ clock }) => clock.advance(idleMs), { kind: 'stalled' }],
    ['silence after it', ({ clock, head }) => (head(), clock.advance(idleMs)), { kind: 'stalled' }],
  ];
  it.each(faults)('fails once for %s, is not listened to any more and leaves no timer', (_, provoke, fault) => {
    const run = begin();
    provoke(run);
    expect(run.ends).toHaveLength(1);
    expect(run.ends[0]).toMatchObject(fault);
    const before = run.words();
    run.head();
    run.engine.data('late');
    run.engine.end();
    run.engine.fail('late');
    run.clock.advance(10 * idleMs);
    expect({ ends: run.ends.length, words: run.words(), armed: run.clock.armed() }).toEqual({
      ends: 1,
      words: before,
      armed: 0,
    });
  });

  it.each([
    ['a status', ({ engine }: ReturnType<typeof begin>) => engine.head(503)],
    ['a content type', ({ engine }: ReturnType<typeof begin>) => engine.head(200, { 'content-type': 'text/html' })],
    ['an error in the answer', ({ engine, head }: ReturnType<typeof begin>) => (head(), engine.data('bad'))],
    ['a stall', ({ clock }: ReturnType<typeof begin>) => clock.advance(idleMs)],
  ])('closes the connection when it gives up for %s', (_, provoke) => {
    const run = begin();
    provoke(run);
    expect(run.engine.aborted()).toBe(true);
  });

  it.each(['soon', '-1', '1.5', 'Wed, 21 Oct 2026 07:28:00 GMT', '99999999999'])(
    'ignores the retry-after %j',
    (value) => {
      const { engine, ends } = begin();
      engine.head(429, { 'retry-after': value });
      expect(ends[0]).not.toHaveProperty('retryAfterSeconds');
    },
  );

  it('fails once when the call fails before it was made', () => {
    const { ends, clock } = begin({ refuses: true });
    expect(ends).toEqual([{ kind: 'connect', detail: 'UND_ERR_INVALID_ARG' }]);
    expect(clock.armed()).toBe(0);
  });
});

describe('an attempt that is whole', () => {
  it('waits for the engine to end its exchange, so that the connection can be used again', () => {
    const { engine, clock, head } = begin();
    head();
    engine.data('done');
    clock.advance(900);
    engine.end();
    clock.advance(10_000);
    expect({ aborted: engine.aborted(), armed: clock.armed() }).toEqual({ aborted: false, armed: 0 });
  });

  it('does not wait for ever', () => {
    const { engine, clock, ends, head } = begin();
    head();
    engine.data('done');
    clock.advance(1000);
    expect({ aborted: engine.aborted(), armed: clock.armed(), ends }).toEqual({
      aborted: true,
      armed: 0,
      ends: ['complete'],
    });
  });
});

describe('the idle limit of an attempt', () => {
  it('starts anew with every payload', () => {
    const { engine, clock, ends, head } = begin();
    head();
    for (let spoken = 0; spoken < 5; spoken += 1) {
      clock.advance(idleMs - 1);
      engine.data('a');
    }
    clock.advance(idleMs - 1);
    expect(ends).toEqual([]);
    clock.advance(1);
    expect(ends).toMatchObject([{ kind: 'stalled' }]);
  });

  it('counts payload only: the head, comments and empty chunks do not start it anew', () => {
    const { engine, clock, ends, head } = begin();
    clock.advance(400);
    head();
    clock.advance(400);
    engine.data(': keep-alive');
    clock.advance(199);
    engine.data(': keep-alive');
    expect(ends).toEqual([]);
    clock.advance(1);
    expect(ends).toMatchObject([{ kind: 'stalled' }]);
  });

  it.each([
    ['does not start anew with a count that does not grow', [7, 7, 0, 7, 7], 3, true],
    ['starts anew with one that grows', [7, 8, 9, 10, 11], 3, false],
  ] as const)('%s', (_, counts, perLimit, isOver) => {
    const { engine, clock, ends, head } = begin();
    head();
    for (const count of counts) {
      engine.data(`${count}`);
      clock.advance(idleMs / perLimit);
    }
    expect(ends.map((end) => (end === 'complete' ? end : end.kind))).toEqual(isOver ? ['stalled'] : []);
  });

  it('does not count the time that the caller kept it waiting', () => {
    const { attempt, engine, clock, ends, head } = begin();
    head();
    engine.data('a');
    attempt.pause();
    expect(engine.paused()).toBe(true);
    clock.advance(10 * idleMs + 500);
    attempt.resume();
    expect(engine.paused()).toBe(false);
    clock.advance(idleMs - 1);
    expect(ends).toEqual([]);
    clock.advance(1);
    expect(ends).toMatchObject([{ kind: 'stalled' }]);
  });

  it('counts silence only once what has arrived was read, when this process was held up', async () => {
    const { engine, clock, ends, words, head } = begin();
    head();
    await clock.holdUp(2 * idleMs, () => engine.data('a'));
    expect({ ends, words: words() }).toEqual({ ends: [], words: ['a'] });
    clock.advance(idleMs - 1);
    expect(ends).toEqual([]);
    clock.advance(1);
    expect(ends).toMatchObject([{ kind: 'stalled' }]);
  });

  it.each([
    ['longer', 10 * idleMs],
    ['shorter', idleMs / 10],
  ])('can be %s until the first output, and is as usual from then on', (_, firstOutputMs) => {
    const silent = begin({ firstOutputMs });
    silent.head();
    silent.clock.advance(firstOutputMs - 1);
    expect(silent.ends).toEqual([]);
    silent.clock.advance(1);
    expect(silent.ends).toMatchObject([{ kind: 'stalled', detail: `no payload for ${firstOutputMs} ms` }]);

    const { engine, clock, ends, head } = begin({ firstOutputMs });
    head();
    clock.advance(firstOutputMs - 1);
    engine.data('a');
    clock.advance(idleMs - 1);
    expect({ ends, armed: clock.armed() }).toEqual({ ends: [], armed: 1 });
    clock.advance(1);
    expect(ends).toMatchObject([{ kind: 'stalled', detail: `no payload for ${idleMs} ms` }]);
  });

  it('has one timer at a time', () => {
    const { engine, clock, head } = begin();
    head();
    for (let spoken = 0; spoken < 50; spoken += 1) {
      engine.data('a');
      clock.advance(100);
      expect(clock.armed()).toBe(1);
    }
  });
});

describe('aborting an attempt', () => {
  const stages: readonly (readonly [when: string, prepare: (run: ReturnType<typeof begin>) => void])[] = [
    ['before the head', () => undefined],
    ['after the head', ({ head }) => head()],
    ['in the middle', ({ engine, head }) => (head(), engine.data('a'))],
    ['while it is paused', ({ attempt, head }) => (head(), attempt.pause())],
  ];
  it.each(stages)('%s closes the connection, and nothing is reported afterwards', (_, prepare) => {
    const run = begin();
    prepare(run);
    const before = run.words();
    run.attempt.abort();
    expect({ aborted: run.engine.aborted(), armed: run.clock.armed() }).toEqual({ aborted: true, armed: 0 });
    run.head();
    run.engine.data('late');
    run.engine.data('bad');
    run.engine.end();
    run.engine.fail('ECONNRESET');
    run.clock.advance(10 * idleMs);
    expect({ ends: run.ends, words: run.words() }).toEqual({ ends: [], words: before });
  });

  it('is harmless when it is over', () => {
    const { attempt, engine, ends, head } = begin();
    head();
    engine.data('done');
    attempt.abort();
    attempt.abort();
    expect(ends).toEqual(['complete']);
  });
});

describe('a refusal with status 400', () => {
  const anew: ChoiceContinuation = { ask: {}, merge: mergeNothing, answerBegun: false, prefixTokens: 0 };
  const partial = { ask: { partial: { mark: 'flag', text: 'so far' } } } as const;
  it.each([
    ['of a partial answer: the engine cannot continue', { ...anew, ...partial }, 'no', 'cannot-continue'],
    ['of a partial answer that is too long', { ...anew, ...partial }, 'long', undefined],
    ['of a request that is made again from its beginning', anew, 'no', undefined],
    ['of a request', undefined, 'no', undefined],
  ])('%s', (_, continuation, body, cause) => {
    const { engine, ends } = begin(continuation === undefined ? {} : { continuation });
    engine.head(400);
    engine.data(body);
    engine.end();
    expect(ends.map((end) => end !== 'complete' && end.cause)).toEqual([cause]);
  });
});

describe('an attempt of a process that was held up', () => {
  it('reads all of an error that has arrived', async () => {
    const { engine, clock, ends } = begin();
    engine.head(400);
    await clock.holdUp(1_500, () => {
      engine.data('too long');
      engine.end();
    });
    expect(ends).toMatchObject([{ kind: 'status', engineError: 'context-length' }]);
  });

  it('leaves the connection open that has ended its exchange', async () => {
    const { engine, clock, head } = begin();
    head();
    engine.data('done');
    await clock.holdUp(1_500, () => engine.end());
    clock.advance(10 * idleMs);
    expect({ aborted: engine.aborted(), armed: clock.armed() }).toEqual({ aborted: false, armed: 0 });
  });
});
