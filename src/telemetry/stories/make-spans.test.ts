import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { recordStory } from '../../../test/support/record-story.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Outcome } from '../../core/account.ts';
import { Failure } from '../../core/failure.ts';
import type { AttemptStart } from '../../gateway/core/telemetry.ts';
import type { EndedSpan, RequestTrace } from '../../core/trace.ts';
import { createStories } from './stories.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

/** A trace whose spans are called `child-1`, `child-2`, … under `request`. */
function sampleTrace(isSampled: boolean): RequestTrace {
  let made = 0;
  return {
    place: { traceId, spanId: 'request', isSampled },
    parentId: 'envoy',
    child: () => ({ traceId, spanId: `child-${(made += 1)}`, isSampled }),
  };
}

const first: Omit<AttemptStart, 'spanId'> = {
  ...{ routeId: 'm@a', backend: 'a', engine: 'vllm', upstreamModel: 'up/m', endpoint: '[2001:db8::1]:8000' },
  ...{ reason: 'first', step: 'first', picked: { why: 'holder', heldTokens: 900.4, firstMs: 120 } },
};

function begin(isSampled = true) {
  const clock = createFakeClock();
  const told: (readonly EndedSpan[])[] = [];
  const stories = createStories({ process: 'p', tellSpans: (spans) => told.push(spans) });
  const trace = sampleTrace(isSampled);
  const startedAt = clock.now();
  const { progress, attempt } = recordStory(stories, clock, { correlationId: 'c', trace });
  const settled = (changes: Partial<Outcome> = {}): void =>
    progress({ kind: 'settled', outcome: sampleOutcome({ requestId: 'r', ...changes }) });
  const ended = (failure?: Failure): void => progress({ kind: 'ended', failure });
  /** Each span as `name from–to under PARENT`, milliseconds since the request. */
  const lines = (): readonly string[] =>
    told.flat().map(({ name, startedAt: from, endedAt: to, parentId, isError }) => {
      const mark = isError ? ' failed' : '';
      return `${name} ${from - startedAt}–${to - startedAt} under ${parentId}${mark}`;
    });
  const named = (name: string) => told.flat().find((span) => span.name === name);
  return { clock, stories, progress, attempt, settled, ended, trace, told, lines, named };
}

describe('the spans of a request', () => {
  it('are its stages, its attempts, its searches and its commit, one after the other and under the right span', () => {
    const { clock, progress, attempt, settled, ended, trace, lines, named } = begin();
    progress({ kind: 'authenticated', workspaceId: 'ws', keyId: 'key' });
    clock.advance(2);
    progress({ kind: 'admitted' });
    clock.advance(3);
    progress({ kind: 'arrived', waitedMs: 3 });
    clock.advance(1);
    progress({ kind: 'read', modelId: 'test/m', stream: true });
    clock.advance(4);
    progress({ kind: 'dispatched' });
    const loser = attempt({ ...first, spanId: trace.child().spanId });
    clock.advance(50);
    const winner = attempt({ ...first, reason: 'hedge', spanId: trace.child().spanId });
    clock.advance(20);
    winner.output();
    loser.ended({ kind: 'beaten' }, { model: undefined, usage: undefined, finishReasons: [] });
    clock.advance(30);
    winner.ended(
      { kind: 'complete' },
      {
        model: 'up/m-2026',
        usage: { promptTokens: 9, completionTokens: 7, reasoningTokens: 2 },
        finishReasons: ['stop'],
      },
    );
    clock.advance(10);
    progress({
      kind: 'searched',
      search: { provider: 'brave', result: 'too_many_requests', durationMs: 8, spanId: trace.child().spanId },
    });
    progress({ kind: 'answered' });
    clock.advance(1);
    settled({ kind: 'completed', firstTokenMs: 80 });
    clock.advance(5);
    progress({ kind: 'recorded' });
    clock.advance(1);
    ended();

    expect(lines()).toEqual([
      'chat test/m 0–127 under envoy',
      'admission 0–2 under request',
      'receive body 2–5 under request',
      'read body 5–6 under request',
      'plan 6–10 under request',
      'chat up/m 10–80 under request',
      'chat up/m 60–110 under request',
      'search the web 112–120 under request',
      'settle 120–126 under request',
      'commit 121–126 under child-8',
    ]);
    expect(named('chat test/m')).toMatchObject({
      ...{ traceId, spanId: 'request', kind: 'server', isError: false },
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'test/m',
        'gen_ai.response.time_to_first_chunk': 0.08,
        'weir.outcome': 'completed',
        'weir.attempts': 2,
        'weir.workspace.id': 'ws',
        'error.type': undefined,
      },
    });
    expect(named('settle')?.spanId).toBe('child-8');
    expect(named('search the web')?.attributes).toMatchObject({ 'error.type': 'too_many_requests' });
  });

  it('have the conventional attributes of an attempt, and why it failed', () => {
    const { clock, attempt, ended, trace, told } = begin();
    const failed = attempt({ ...first, spanId: trace.child().spanId });
    clock.advance(10);
    failed.output();
    const fault = { kind: 'status', status: 503, engineError: 'overloaded', detail: 'CANARY' } as const;
    failed.ended(
      { kind: 'failed', fault },
      {
        model: 'up/m-2026',
        usage: { promptTokens: 9, completionTokens: 7, cachedTokens: 4 },
        finishReasons: ['length', 'stop'],
      },
    );
    ended();
    const span = told.flat().find(({ name }) => name === 'chat up/m');
    expect(span).toMatchObject({
      ...{ kind: 'client', isError: true, parentId: 'request' },
      attributes: {
        'gen_ai.provider.name': 'vllm',
        'gen_ai.request.model': 'up/m',
        'gen_ai.response.model': 'up/m-2026',
        'gen_ai.usage.input_tokens': 9,
        'gen_ai.usage.output_tokens': 7,
        'gen_ai.usage.cache_read.input_tokens': 4,
        'gen_ai.response.finish_reasons': ['length', 'stop'],
        'gen_ai.response.time_to_first_chunk': 0.01,
        'server.address': '2001:db8::1',
        'server.port': 8000,
        'error.type': 'status',
        'http.response.status_code': 503,
        'weir.fault.engine_error': 'overloaded',
        'weir.attempt.end': 'failed',
        'weir.endpoint.pick': 'holder',
        'weir.endpoint.held_tokens': 900,
        'weir.endpoint.expected_first_token': 0.12,
      },
    });
    expect(JSON.stringify(told)).not.toContain('CANARY');
  });

  it('of a refusal end where it was refused, and are an error only where the service is to blame', () => {
    const refused = begin();
    refused.clock.advance(2);
    refused.ended(new Failure('rate_limited', 'Too many.'));
    expect(refused.lines()).toEqual(['chat 0–2 under envoy', 'admission 0–2 under request']);
    expect(refused.named('admission')?.attributes).toEqual({ 'error.type': 'rate_limited' });

    const broken = begin();
    broken.ended(new Failure('internal', 'Sorry.'));
    expect(broken.lines()).toEqual(['chat 0–0 under envoy failed', 'admission 0–0 under request failed']);
  });

  it('of a commit that failed reach to the end and are errors', () => {
    const { clock, progress, settled, ended, lines } = begin();
    progress({ kind: 'arrived', waitedMs: 0 });
    for (const kind of ['admitted', 'dispatched', 'answered'] as const) progress({ kind });
    settled();
    clock.advance(7);
    ended();
    expect(lines().slice(-2)).toEqual([
      'settle 0–7 under request failed',
      expect.stringMatching(/^commit 0–7 .*failed$/),
    ]);
  });

  it('are made for a request that its caller left before it was complete, though its story is not kept', () => {
    const { stories, ended, named } = begin();
    ended();
    expect(named('chat')?.attributes).toMatchObject({ 'weir.outcome': 'cancelled' });
    expect(stories.find('r')).toEqual([]);
  });

  it('are not made for a trace that is not sampled', () => {
    const { stories, settled, ended, told } = begin(false);
    settled();
    ended();
    expect(told).toEqual([]);
    expect(stories.find('r')).toHaveLength(1);
  });
});
