import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { recordStory } from '../../../test/support/record-story.ts';
import type { Outcome } from '../../core/account.ts';
import { Failure } from '../../core/failure.ts';
import type { Ranking } from '../../gateway/core/plan.ts';
import { storySchema } from '../core/story.ts';
import type { AnswerFacts, AttemptStart } from '../../gateway/core/telemetry.ts';
import { createStories } from './stories.ts';

const first: AttemptStart = {
  ...{ routeId: 'm@a', backend: 'a', engine: 'vllm', upstreamModel: 'm', endpoint: '10.0.0.1:80' },
  ...{ reason: 'first', step: 'first', picked: { why: 'holder', heldTokens: 900.4, firstMs: 80 }, spanId: undefined },
};
const hedge: AttemptStart = {
  ...{ routeId: 'm@b', backend: 'b', engine: 'vllm', upstreamModel: 'm', endpoint: '10.0.0.2:80' },
  ...{ reason: 'hedge', step: 'route', picked: undefined, spanId: undefined },
};
const counted = (completionTokens: number): AnswerFacts => ({
  model: undefined,
  usage: { promptTokens: 3, completionTokens },
  finishReasons: ['stop'],
});
const ranked = {
  state: 'available',
  success: 1,
  validity: 1,
  inFlight: 2,
  capacity: 64,
  firstOutputMs: 80.04,
} as const;
const ranking: Ranking = {
  first: 'chance',
  routes: [
    { ...ranked, routeId: 'm@a', chance: 3 },
    { ...ranked, routeId: 'm@b', chance: 1, capacity: undefined, firstOutputMs: undefined },
  ],
  leftOut: [{ routeId: 'm@c', why: 'cannot-serve', lacks: ['tools'] }],
};

function begin() {
  const clock = createFakeClock();
  const stories = createStories({ process: 'p1' });
  const began = (requestId: string, correlationId = '') => {
    const { progress, attempt } = recordStory(stories, clock, { requestId, correlationId });
    return {
      ...{ progress, attempt },
      settled: (changes: Partial<Outcome> = {}): void =>
        progress({ kind: 'settled', outcome: sampleOutcome({ requestId, ...changes }) }),
      ended: (failure?: Failure): void => progress({ kind: 'ended', failure }),
    };
  };
  const complete = (requestId: string, correlationId = '', workspaceId?: string): void => {
    const { progress, settled, ended } = began(requestId, correlationId);
    if (workspaceId !== undefined) progress({ kind: 'authenticated', workspaceId, keyId: 'k' });
    settled();
    ended();
  };
  const refuse = (requestId: string): void => began(requestId).ended(new Failure('rate_limited', 'CANARY'));
  return { clock, stories, began, complete, refuse };
}

describe('the story of a request', () => {
  it('has the plan, the attempts with their times, the searches, the waits and the bill', () => {
    const { clock, stories, began } = begin();
    const { progress, attempt, settled, ended } = began('r1', 'corr-1');
    progress({ kind: 'authenticated', workspaceId: 'ws_1', keyId: 'key_1' });
    clock.advance(2);
    progress({ kind: 'admitted' });
    clock.advance(3);
    progress({ kind: 'read', modelId: 'test/m', stream: true });
    progress({ kind: 'ranked', ranking });
    clock.advance(5);
    progress({ kind: 'dispatched' });
    const loser = attempt(first);
    clock.advance(1000);
    const winner = attempt(hedge);
    winner.movedTo('10.0.0.3:80');
    clock.advance(100);
    winner.output();
    clock.advance(7);
    winner.output();
    loser.ended({ kind: 'beaten' }, undefined);
    clock.advance(500);
    progress({
      kind: 'searched',
      search: { provider: 'brave', result: 'found', durationMs: 400, spanId: undefined },
    });
    winner.ended({ kind: 'complete' }, counted(12));
    winner.ended({ kind: 'aborted' }, counted(99));
    settled({ routeId: 'm@b', durationMs: 1617 });
    clock.advance(4);
    ended();
    const [story] = stories.find('corr-1');
    expect(storySchema.parse(story)).toEqual(story);
    expect(story).toMatchObject({
      ...{ id: 'r1', workspace: 'ws_1', key: 'key_1', model: 'test/m', outcome: 'completed', route: 'm@b' },
      ...{ attempt_count: 2, hedge_count: 1, failover_count: 0, resume_count: 0, failure: null },
      waits: { admission: 2, body: 3, plan: 5, record: 4 },
      plan: {
        first: 'chance',
        routes: [
          { route: 'm@a', chance: 0.75, capacity: 64, expected_first_output_ms: 80 },
          { route: 'm@b', chance: 0.25, capacity: null, expected_first_output_ms: null },
        ],
        left_out: [{ route: 'm@c', why: 'cannot-serve', lacks: ['tools'] }],
      },
      attempts: [
        {
          ...{ route: 'm@a', reason: 'first', pick: { why: 'holder', held_tokens: 900, expected_first_token_ms: 80 } },
          ...{ began_ms: 10, first_output_ms: null, ended_ms: 1117, end: 'beaten' },
        },
        {
          ...{ route: 'm@b', endpoint: '10.0.0.3:80', reason: 'hedge', step: 'route', began_ms: 1010 },
          ...{ first_output_ms: 1110, ended_ms: 1617, end: 'complete', fault: null, output_tokens: 12 },
        },
      ],
      searches: [{ provider: 'brave', result: 'found', began_ms: 1217, duration_ms: 400 }],
      bill: { prompt_tokens: 120, counted_by: 'engine' },
    });
  });

  it.each([
    ['chance', 'soonest'],
    ['standby', 'standby'],
  ] as const)('has the route first that the endpoints have picked, where it was there by %s', (before, first) => {
    const { stories, began } = begin();
    const { progress, settled, ended } = began('r1', 'c1');
    progress({ kind: 'ranked', ranking: { ...ranking, first: before } });
    progress({ kind: 'route-picked', routeId: 'm@b' });
    settled();
    ended();
    expect(stories.find('c1')[0]?.plan).toMatchObject({ first, routes: [{ route: 'm@b' }, { route: 'm@a' }] });
  });

  it('has only the classification of faults and refusals', () => {
    const { stories, began } = begin();
    const { attempt, ended } = began('r1');
    const made = attempt(first);
    const fault = {
      kind: 'status',
      status: 400,
      engineError: 'bad-request',
      about: 'tools',
      detail: 'CANARY',
    } as const;
    made.ended({ kind: 'failed', fault }, undefined);
    ended(new Failure('attempts_failed', 'CANARY', { cause: new Error('CANARY'), about: ['tools'] }));
    const [story] = stories.find('r1');
    expect(story).toMatchObject({
      outcome: 'refused',
      failure: { code: 'attempts_failed', status: 502, about: ['tools'], limit: null },
      attempts: [
        { end: 'failed', fault: { kind: 'status', status: 400, engine_error: 'bad-request', about: 'tools' } },
      ],
    });
    expect(JSON.stringify(story)).not.toContain('CANARY');
  });

  it('is there while the request runs, and dropped if its caller left before anything happened', () => {
    const { stories, began } = begin();
    const { ended } = began('r1', 'corr-1');
    expect(stories.find('r1')[0]).toMatchObject({ outcome: null, duration_ms: null });
    expect(stories.find('corr-1')[0]).toMatchObject({ id: 'r1' });
    ended();
    expect(stories.find('r1')).toEqual([]);
    expect(stories.after(0, 10)).toMatchObject({ requests: [], next_after: 0 });
  });

  it('has a bounded number of attempts, and counts the others', () => {
    const { stories, began } = begin();
    const { attempt } = began('r1');
    for (let made = 0; made < 100; made += 1) attempt(first).ended({ kind: 'aborted' }, undefined);
    expect(stories.find('r1')[0]).toMatchObject({ attempt_count: 100 });
    expect(stories.find('r1')[0]?.attempts).toHaveLength(24);
  });
});

describe('the stories of a service', () => {
  it('are numbered in the order in which requests end, and read in pages', () => {
    const { stories, complete, refuse } = begin();
    complete('r1');
    refuse('r2');
    complete('r3');
    const page = stories.after(0, 2);
    expect(page).toMatchObject({ process: 'p1', next_after: 2, has_more: true, missed: 0 });
    expect(page.requests.map(({ id, seq }) => [id, seq])).toEqual([
      ['r1', 1],
      ['r2', 2],
    ]);
    expect(stories.after(2, 2)).toMatchObject({ next_after: 3, has_more: false, requests: [{ id: 'r3', seq: 3 }] });
    expect(stories.after(3, 2)).toMatchObject({ next_after: 3, requests: [], missed: 0 });
    // A reader of the previous process asks for a number that this one has not reached.
    expect(stories.after(99, 2)).toMatchObject({ next_after: 3, requests: [], missed: 0 });
  });

  it('come with what the ledger keeps of them, once they have ended', () => {
    const { stories, began, refuse } = begin();
    const { attempt, settled: settle, ended } = began('r1');
    attempt(first).ended({ kind: 'complete' }, counted(12));
    settle({ attempts: 2, routes: 1, output: undefined });
    ended();
    refuse('r2');
    const [settled, refused] = stories.after(0, 2).requests;
    expect(settled?.settled).toMatchObject({ id: 'r1', workspace: 'ws_unknown', attempts: 2, routes: 1 });
    expect(refused?.settled).toBeNull();
    expect(stories.find('r1')[0]).not.toHaveProperty('settled');
  });

  it('are of the last thousand settled requests, however many are refused meanwhile', () => {
    const { stories, complete, refuse } = begin();
    for (let at = 1; at <= 1001; at += 1) complete(`r${at}`);
    for (let at = 1; at <= 5000; at += 1) refuse(`refused${at}`);
    expect(stories.find('r1')).toEqual([]);
    expect(stories.find('r2')[0]).toMatchObject({ id: 'r2' });
    const { requests, missed } = stories.after(0, 10_000);
    expect([requests.length, missed]).toEqual([1250, 6001 - 1250]);
  });

  it('find all requests with one correlation id, newest first, at most twenty of a workspace', () => {
    const { stories, complete } = begin();
    complete('r1', 'same');
    complete('r2', 'same');
    expect(stories.find('same').map(({ id }) => id)).toEqual(['r2', 'r1']);
    for (let count = 3; count <= 40; count += 1) complete(`r${count}`, 'same');
    expect(stories.find('same')).toHaveLength(20);
  });

  it('find a request by its correlation id, however often strangers and other workspaces send that id', () => {
    const { stories, began, complete } = begin();
    complete('mine', 'same', 'ws_1');
    for (let count = 1; count <= 100; count += 1) complete(`theirs${count}`, 'same', 'ws_2');
    for (let count = 1; count <= 100; count += 1) {
      began(`stranger${count}`, 'same').ended(new Failure('unauthenticated', 'x'));
    }
    const found = stories.find('same').map(({ id }) => id);
    expect([found.length, found[0], found.at(-1)]).toEqual([41, 'stranger100', 'mine']);
    // The twin: among the newest alone it is not.
    expect(found.slice(0, 20)).not.toContain('mine');
  });

  it('find only the request with an id, though later requests were sent with that id as x-request-id', () => {
    const { stories, complete } = begin();
    complete('r1', 'corr-1');
    complete('r2', 'r1');
    expect(stories.find('r1').map(({ id }) => id)).toEqual(['r1']);
  });
});
