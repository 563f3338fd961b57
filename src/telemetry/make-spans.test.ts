import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { sampleEnd } from '../../test/support/sample-end.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { Failure } from '../core/failure.ts';
import type { AttemptStart } from '../core/telemetry.ts';
import type { EndedSpan, RequestTrace } from '../core/trace.ts';
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
  ...{ reason: 'first', step: 'first' },
};

function begin(isSampled = true) {
  const clock = createFakeClock();
  const told: (readonly EndedSpan[])[] = [];
  const stories = createStories({ clock, process: 'p', tellSpans: (spans) => told.push(spans) });
  const trace = sampleTrace(isSampled);
  const startedAt = clock.now();
  stories.began('r', { surface: 'chat', correlationId: 'c', startedAt, trace });
  /** Each span as `name from–to under PARENT`, milliseconds since the request. */
  const lines = (): readonly string[] =>
    told.flat().map(({ name, startedAt: from, endedAt: to, parentId, isError }) => {
      const mark = isError ? ' failed' : '';
      return `${name} ${from - startedAt}–${to - startedAt} under ${parentId}${mark}`;
    });
  const named = (name: string) => told.flat().find((span) => span.name === name);
  return { clock, stories, trace, told, lines, named };
}

describe('the spans of a request', () => {
  it('are its stages, its attempts, its searches and its commit, one after the other and under the right span', () => {
    const { clock, stories, trace, lines, named } = begin();
    stories.progress('r', { kind: 'authenticated', workspaceId: 'ws', keyId: 'key' });
    clock.advance(2);
    stories.progress('r', { kind: 'admitted' });
    clock.advance(3);
    stories.progress('r', { kind: 'arrived' });
    clock.advance(1);
    stories.progress('r', { kind: 'read', modelId: 'test/m', stream: true });
    clock.advance(4);
    stories.progress('r', { kind: 'dispatched' });
    const loser = stories.attempt('r', { ...first, spanId: trace.child().spanId });
    clock.advance(50);
    const winner = stories.attempt('r', { ...first, reason: 'hedge', spanId: trace.child().spanId });
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
    stories.searched('r', {
      ...{ provider: 'brave', result: 'too_many_requests', durationMs: 8, spanId: trace.child().spanId },
    });
    stories.progress('r', { kind: 'answered' });
    clock.advance(1);
    stories.outcome(sampleOutcome({ requestId: 'r', kind: 'completed', firstTokenMs: 80 }));
    clock.advance(5);
    stories.progress('r', { kind: 'recorded' });
    clock.advance(1);
    stories.over('r');

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

  it('say of an attempt what the conventions have, and why it failed', () => {
    const { clock, stories, trace, told } = begin();
    const failed = stories.attempt('r', { ...first, spanId: trace.child().spanId });
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
    stories.over('r');
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
      },
    });
    expect(JSON.stringify(told)).not.toContain('CANARY');
  });

  it('of a refusal end where it was refused, and are an error only where the service is to blame', () => {
    const refused = begin();
    refused.clock.advance(2);
    refused.stories.ended(sampleEnd({ requestId: 'r', failure: new Failure('rate_limited', 'Too many.') }));
    refused.stories.over('r');
    expect(refused.lines()).toEqual(['chat 0–2 under envoy', 'admission 0–2 under request']);
    expect(refused.named('admission')?.attributes).toEqual({ 'error.type': 'rate_limited' });

    const broken = begin();
    broken.stories.ended(sampleEnd({ requestId: 'r', failure: new Failure('internal', 'Sorry.') }));
    broken.stories.over('r');
    expect(broken.lines()).toEqual(['chat 0–0 under envoy failed', 'admission 0–0 under request failed']);
  });

  it('of a commit that failed reach to the end and are errors', () => {
    const { clock, stories, lines } = begin();
    for (const kind of ['admitted', 'arrived', 'dispatched', 'answered'] as const) stories.progress('r', { kind });
    stories.outcome(sampleOutcome({ requestId: 'r' }));
    clock.advance(7);
    stories.over('r');
    expect(lines().slice(-2)).toEqual([
      'settle 0–7 under request failed',
      expect.stringMatching(/^commit 0–7 .*failed$/),
    ]);
  });

  it('are told of a caller who left before its request was complete, whose story is not kept', () => {
    const { stories, named } = begin();
    stories.over('r');
    expect(named('chat')?.attributes).toMatchObject({ 'weir.outcome': 'cancelled' });
    expect(stories.find('r')).toEqual([]);
  });

  it('are not made for a trace that is not sampled', () => {
    const { stories, told } = begin(false);
    stories.outcome(sampleOutcome({ requestId: 'r' }));
    stories.over('r');
    expect(told).toEqual([]);
    expect(stories.find('r')).toHaveLength(1);
  });
});
